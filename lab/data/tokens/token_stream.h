// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lab/data/tokens/token_file.h"

namespace trasmuon::lab {

/// The token files that `where` means, sorted by name: a file; a pattern with *, ? or [...]; or a folder, in which the
/// files *SPLIT*.bin are meant (`split` is "train" or "val"). Throws Error if there is none.
std::vector<std::filesystem::path> token_files(const std::string& where, const std::string& split);

/// Several token files, or tokens in memory, as one sequence. May be read by several threads.
class TokenStream {
 public:
  /// Opens and checks the files, every token too, which reads them once. Throws Error with the name of the bad file.
  TokenStream(const std::vector<std::filesystem::path>& files, std::int64_t vocabulary);
  /// Takes tokens that are already in memory.
  explicit TokenStream(std::vector<std::uint16_t> tokens);

  std::int64_t size() const { return size_; }
  /// Copies the tokens [position, position + out.size()); throws Error unless they lie in [0, size()).
  void read(std::int64_t position, std::span<std::int64_t> out) const;

 private:
  std::vector<std::unique_ptr<TokenFile>> files_;
  std::vector<std::int64_t> ends_;  // of each file in the stream
  std::vector<std::uint16_t> memory_;
  std::int64_t size_ = 0;
};

}  // namespace trasmuon::lab
