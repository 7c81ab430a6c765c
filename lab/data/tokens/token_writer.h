// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace trasmuon::lab {

/// Writes tokens into files FOLDER/NAME_000000.bin, NAME_000001.bin, ... of at most `shard_tokens` tokens.
class TokenWriter {
 public:
  TokenWriter(std::filesystem::path folder, std::string name, std::int64_t shard_tokens, int bytes_per_token);
  ~TokenWriter();
  TokenWriter(const TokenWriter&) = delete;
  TokenWriter& operator=(const TokenWriter&) = delete;

  void add(std::span<const std::uint32_t> tokens);  ///< throws WriteError
  void finish();                                    ///< completes the last file; throws WriteError

  std::int64_t tokens() const { return tokens_; }
  int files() const { return files_; }

 private:
  void open();
  void flush();

  std::filesystem::path folder_, file_;
  std::string name_, buffer_;
  std::int64_t shard_tokens_, tokens_ = 0, in_file_ = 0;
  int bytes_per_token_, files_ = 0, descriptor_ = -1;
};

}  // namespace trasmuon::lab
