// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <trasmuon/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace trasmuon::lab {

FolderLock::FolderLock(const std::filesystem::path& folder) {
  const std::string name = (folder / ".lock").string();
  file_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) throw Error("cannot write " + name + ": " + std::strerror(errno));
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  ::close(file_);
  if (reason == EWOULDBLOCK)
    throw Error(folder.string() +
                ": another trasmuon program is writing runs there; wait for it or take another --out");
  throw Error("cannot lock " + name + ": " + std::strerror(reason));
}

FolderLock::~FolderLock() { ::close(file_); }

}  // namespace trasmuon::lab
