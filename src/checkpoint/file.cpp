// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <optional>
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
void sync_directory(const std::string& directory) {
  const FileDescriptor handle(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int code = handle.get() < 0 || ::fsync(handle.get()) != 0 ? errno : 0;
  // A directory may be writable but not readable, and some network file systems cannot sync
  // one. The file itself is complete, so this is not an error.
  if (code != 0 && code != EACCES && code != EINVAL && code != ENOTSUP) {
    fail("cannot sync directory '" + directory + "'", code);
  }
}

/// Returns the path that symbolic links lead to from `path`, whether there is a file or not.
std::string follow_links(std::string path) {
  constexpr int kMostLinks = 40;  // as in Linux
  for (int links = 0; links <= kMostLinks; ++links) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) return path;  // not a link
    path = (std::filesystem::path(path).parent_path() / target).string();
  }
  fail("cannot follow links", ELOOP);
}

/// The file at `path`, if there is one; throws Error if it is not a regular file: renaming over a device would replace
/// it.
std::optional<struct stat> replaced_file(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return {};
  if (!S_ISREG(status.st_mode)) throw Error("must be a regular file or not exist");
  return status;
}

/// Gives the file mode, owner and group of the one it will replace. What the system does not permit is left as it is.
void take_over(int file, const struct stat& old) {
  mode_t mode = old.st_mode & 07777;
  const bool group_kept = ::fchown(file, static_cast<uid_t>(-1), old.st_gid) == 0;
  // Rights of the old group are not for another one.
  if (!group_kept) mode &= ~mode_t{S_IRWXG | S_ISGID};
  const bool owner_kept = ::fchown(file, old.st_uid, static_cast<gid_t>(-1)) == 0;
  if (!owner_kept) mode &= ~mode_t{S_ISUID};
  if (::fchmod(file, mode) != 0 && errno != EPERM && errno != ENOTSUP) fail("cannot set the mode", errno);
}

}  // namespace

bool FileDescriptor::close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

InputFile::InputFile(const std::string& path)
    // O_NONBLOCK: opening a pipe must not wait for its writer. It has no effect on regular files.
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (file_.get() < 0) fail("cannot open", errno);
  struct stat status;
  if (::fstat(file_.get(), &status) != 0) fail("cannot read its size", errno);
  if (!S_ISREG(status.st_mode)) throw Error("must be a regular file");
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), kMaxTransfer);
    const ssize_t count = retry_interrupted([&] { return ::read(file_.get(), bytes.data(), part); });
    if (count < 0) fail("cannot read", errno);
    if (count == 0) throw Error("file became shorter while it was read");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

AtomicFile::AtomicFile(const std::string& path)
    : path_(follow_links(path)), directory_(std::filesystem::path(path_).parent_path().string()) {
  static std::atomic<unsigned> counter{0};
  if (directory_.empty()) directory_ = ".";
  // No more readers than the old file has, at any time.
  const mode_t mode = replaced_file(path_) ? S_IRUSR | S_IWUSR : 0666;
  do {  // skips names left by killed processes
    temporary_ = path_ + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
    file_ = FileDescriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
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
  if (const std::optional<struct stat> old = replaced_file(path_)) take_over(file_.get(), *old);
  if (::fsync(file_.get()) != 0) fail("cannot sync '" + temporary_ + "'", errno);
  if (!file_.close()) fail("cannot close '" + temporary_ + "'", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot rename '" + temporary_ + "'", errno);
  pending_ = false;
  sync_directory(directory_);
}

}  // namespace trasmuon
