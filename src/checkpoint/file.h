// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace trasmuon {

/// Owns an open file, and closes it.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { close(); }

  int get() const { return fd_; }
  bool close();  ///< false when the system reports an error

 private:
  int fd_;
};

/// A regular file, read from front to back.
class InputFile {
 public:
  explicit InputFile(const std::string& path);

  std::uint64_t size() const { return size_; }
  /// Fills `bytes` with the next bytes; throws Error if the file ends before.
  void read(std::span<std::byte> bytes);

 private:
  FileDescriptor file_;
  std::uint64_t size_ = 0;
};

/// A file that gets its name only when it is complete: written under another name beside `path`,
/// synced, renamed. Without commit() it is removed and `path` stays unchanged. If `path` is a symbolic link, all this
/// happens to the file it points to. The new file has mode, owner and group of the one it replaces, as far as the
/// system permits.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  std::string path_;
  std::string directory_;
  std::string temporary_;
  FileDescriptor file_;
  bool pending_ = false;  ///< temporary_ exists
};

}  // namespace trasmuon
