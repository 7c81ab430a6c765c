// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "trasmuon/error.h"

namespace trasmuon {
namespace {

// One call of read or write moves less than 2 GiB on Linux.
constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;

[[noreturn]] void fail(const std::string& action, int code) {
  throw Error(action + ": " + std::generic_category().message(code));
}

template <class Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// Makes the rename itself durable.
void sync_directory_of(const std::string& path) {
  std::string directory = std::filesystem::path(path).parent_path().string();
  if (directory.empty()) directory = ".";
  const FileDescriptor handle(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int code = handle.get() < 0 || ::fsync(handle.get()) != 0 ? errno : 0;
  // A directory may be writable and not readable, and some network file systems cannot
  // sync one: no reason to call a file in place and whole a failure.
  if (code != 0 && code != EACCES && code != EINVAL && code != ENOTSUP) {
    fail("cannot sync directory '" + directory + "'", code);
  }
}

/// Renaming over a device would replace it.
void check_replaceable(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) throw Error("exists and is not a regular file");
}

}  // namespace

bool FileDescriptor::close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

InputFile::InputFile(const std::string& path)
    // Opening a pipe must not wait for its writer; regular files do not notice.
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (file_.get() < 0) fail("cannot open", errno);
  struct stat status;
  if (::fstat(file_.get(), &status) != 0) fail("cannot read its size", errno);
  if (!S_ISREG(status.st_mode)) throw Error("is not a regular file");
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), kMaxTransfer);
    const ssize_t count = retry_interrupted([&] { return ::read(file_.get(), bytes.data(), part); });
    if (count < 0) fail("cannot read", errno);
    if (count == 0) throw Error("became shorter while being read");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  static std::atomic<unsigned> counter{0};
  check_replaceable(path_);
  do {  // a name left by a killed process is passed over
    temporary_ = path_ + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
    file_ = FileDescriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  } while (file_.get() < 0 && errno == EEXIST);
  if (file_.get() < 0) fail("cannot create '" + temporary_ + "'", errno);
  pending_ = true;
}

AtomicFile::~AtomicFile() {
  if (pending_) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), kMaxTransfer);
    const ssize_t count = retry_interrupted([&] { return ::write(file_.get(), bytes.data(), part); });
    if (count < 0) fail("cannot write '" + temporary_ + "'", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::commit() {
  if (::fsync(file_.get()) != 0) fail("cannot sync '" + temporary_ + "'", errno);
  if (!file_.close()) fail("cannot close '" + temporary_ + "'", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot rename '" + temporary_ + "'", errno);
  pending_ = false;
  sync_directory_of(path_);
}

}  // namespace trasmuon
