// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "lab/records/files.h"

namespace trasmuon::lab {

FolderLock::FolderLock(const std::filesystem::path& folder, const std::string& name, IfHeld if_held) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw WriteError(folder, error.value());
  const std::filesystem::path file = folder / name;
  file_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) throw WriteError(file, errno);
  int result = 0;
  do result = ::flock(file_, LOCK_EX | (if_held == IfHeld::refuse ? LOCK_NB : 0));
  while (result != 0 && errno == EINTR);
  if (result == 0) return;
  const int reason = errno;
  ::close(file_);
  if (reason == EWOULDBLOCK)
    throw Error(folder.string() + ": another trasmuon process is writing there; wait for it or choose another --out");
  throw Error("cannot lock " + file.string() + ": " + std::strerror(reason));
}

FolderLock::~FolderLock() { ::close(file_); }

}  // namespace trasmuon::lab
