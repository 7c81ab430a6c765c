// SPDX-License-Identifier: Apache-2.0
#include "lab/data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <trasmuon/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace trasmuon::lab {

MappedFile::MappedFile(const std::filesystem::path& file) {
  const auto refuse = [&](const std::string& reason) { throw Error("cannot read " + file.string() + ": " + reason); };
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not block
  if (descriptor < 0) refuse(std::strerror(errno));
  struct stat status {};
  std::string reason;
  void* data = nullptr;
  if (::fstat(descriptor, &status) != 0) reason = std::strerror(errno);
  else if (S_ISDIR(status.st_mode)) reason = "it is a folder";
  else if (!S_ISREG(status.st_mode)) reason = "it is not a regular file";
  else if (status.st_size > 0) {
    data = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) reason = std::strerror(errno);
  }
  ::close(descriptor);
  if (!reason.empty()) refuse(reason);
  data_ = static_cast<const std::uint8_t*>(data);
  size_ = static_cast<std::size_t>(status.st_size);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

}  // namespace trasmuon::lab
