// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace trasmuon::lab {

/// A byte-level byte pair encoding: which token a byte is, and which pairs of tokens become one.
class BytePairs {
 public:
  /// Reads a vocabulary (JSON, token text to number) and merges (a line "LEFT RIGHT" each, most important first), in
  /// which bytes are written as GPT-2 does: 0x20 as U+0120, and so on. Throws Error with the file's name, and the line
  /// of a merge, unless the numbers are 0, 1, 2, ..., every byte is a token and merges join tokens to tokens.
  BytePairs(const std::filesystem::path& vocabulary, const std::filesystem::path& merges);

  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }
  /// The bytes of a token.
  std::string_view bytes(std::uint32_t token) const { return bytes_[token]; }
  /// The token with these bytes, or -1.
  std::int64_t find(std::string_view bytes) const;

  /// Appends the tokens of a word: bytes, of which the pair that comes first among the merges is joined until none is
  /// left, from left to right among equals. Takes n log n time for n bytes.
  void encode_word(std::string_view word, std::vector<std::uint32_t>& out) const;

 private:
  struct Merge {
    std::uint32_t rank, token;
  };
  static std::uint64_t pair(std::uint32_t left, std::uint32_t right) { return std::uint64_t{left} << 32 | right; }
  void read_vocabulary(const std::filesystem::path& file);
  void read_merges(const std::filesystem::path& file);

  std::vector<std::string> bytes_;
  std::unordered_map<std::string, std::uint32_t> tokens_;  // by bytes
  std::uint32_t token_of_byte_[256];
  std::unordered_map<std::uint64_t, Merge> merges_;
};

}  // namespace trasmuon::lab
