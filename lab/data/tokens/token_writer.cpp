// SPDX-License-Identifier: Apache-2.0
#include "lab/data/tokens/token_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lab/data/tokens/token_file.h"
#include "lab/records/files.h"

namespace trasmuon::lab {

TokenWriter::TokenWriter(std::filesystem::path folder, std::string name, std::int64_t shard_tokens, int bytes_per_token)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      shard_tokens_(shard_tokens),
      bytes_per_token_(bytes_per_token) {}

TokenWriter::~TokenWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void TokenWriter::open() {
  file_ = folder_ / fmt::format("{}_{:06}.bin", name_, files_++);
  descriptor_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw WriteError(file_, errno);
  in_file_ = 0;
  buffer_ = token_header(0, bytes_per_token_);  // the number of tokens is written by finish()
}

void TokenWriter::flush() {
  const auto size = static_cast<std::size_t>(kTokenHeaderBytes + in_file_ * bytes_per_token_);
  if (const int reason = write_all(descriptor_, buffer_)) throw WriteError(file_, reason, size);
  buffer_.clear();
}

void TokenWriter::add(std::span<const std::uint32_t> tokens) {
  constexpr std::size_t kBuffer = 1 << 20;
  for (const std::uint32_t token : tokens) {
    if (descriptor_ >= 0 && in_file_ == shard_tokens_) finish();
    if (descriptor_ < 0) open();
    buffer_.append(reinterpret_cast<const char*>(&token), static_cast<std::size_t>(bytes_per_token_));  // little-endian
    ++in_file_;
    ++tokens_;
    if (buffer_.size() >= kBuffer) flush();
  }
}

void TokenWriter::finish() {
  if (descriptor_ < 0) return;
  flush();
  const std::string header = token_header(in_file_, bytes_per_token_);
  const bool written = ::pwrite(descriptor_, header.data(), header.size(), 0) == static_cast<ssize_t>(header.size());
  const int reason = errno;
  const bool closed = ::close(std::exchange(descriptor_, -1)) == 0;  // some file systems notice only now
  if (!written || !closed) throw WriteError(file_, written ? errno : reason);
}

}  // namespace trasmuon::lab
