// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trasmuon::lab {

/// Turns text into tokens. The text "<|endoftext|>" is nothing special in it: documents are separated by the caller.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::int64_t vocabulary() const = 0;    ///< all tokens are below
  virtual std::uint32_t end_of_text() const = 0;  ///< the token that separates documents
  virtual bool takes_any_bytes() const = 0;       ///< else only valid UTF-8
  /// Appends the tokens of the text. Throws Error with the byte at which the text is not valid UTF-8.
  virtual void encode(std::string_view text, std::vector<std::uint32_t>& out) = 0;
  /// Appends the bytes of a token, none for end_of_text().
  virtual void decode(std::uint32_t token, std::string& out) const = 0;
};

/// `name`: "bytes" (every byte a token, 256 ends a text), "gpt2" or "qwen" (Qwen2 and Qwen3), which need the folder
/// with their vocabulary (vocab.json or encoder.json) and merges (merges.txt or vocab.bpe).
std::unique_ptr<Tokenizer> make_tokenizer(const std::string& name, const std::filesystem::path& folder = {});

}  // namespace trasmuon::lab
