// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "lab/data/mapped_file.h"

namespace trasmuon::lab {

/// The token files of llm.c and modded-nanogpt: 256 little-endian int32 (magic, version, number of tokens, zeros), then
/// the tokens. 16-bit tokens have magic 20240520 and version 1, 32-bit tokens (llm.c's Llama 3) 20240801 and 7.
constexpr std::int64_t kTokenHeaderBytes = 1024;
constexpr std::int64_t kMostTokensPerFile = 2147483647;  // the count is an int32

/// Bytes of a token in a file for this vocabulary: 2, or 4 above 65,536 tokens.
int token_bytes(std::int64_t vocabulary);

/// The header of a file with `tokens` tokens of 2 or 4 bytes.
std::string token_header(std::int64_t tokens, int bytes_per_token);

/// One token file, memory-mapped.
class TokenFile {
 public:
  /// Throws Error with the file's name unless its header and size are right and it has a token.
  explicit TokenFile(const std::filesystem::path& file);

  std::int64_t size() const { return size_; }
  /// Copies the tokens [first, first + out.size()), which must lie in [0, size()).
  void read(std::int64_t first, std::span<std::int64_t> out) const;
  /// Reads the whole file; throws Error with its name and the position of the first token >= vocabulary.
  void check_tokens(std::int64_t vocabulary) const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  std::int64_t size_;
  int bytes_per_token_;
};

}  // namespace trasmuon::lab
