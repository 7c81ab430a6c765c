// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trasmuon::lab {

/// Returns the byte at which `text` stops being valid UTF-8, or text.size().
std::size_t valid_utf8_prefix(std::string_view text);

/// What the patterns of tokenizers tell apart: \p{L}, \p{N}, \s (Unicode's White_Space), the rest, the end of the text.
enum class CharacterKind : std::uint8_t { other, letter, number, space, end };

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  ///< 0 at the end of the text
  CharacterKind kind = CharacterKind::end;
};

/// The character at a byte of valid UTF-8; of kind `end` behind the last one.
Character character_at(std::string_view text, std::size_t position);

void append_utf8(char32_t code, std::string& out);

/// Unicode's normal form NFC of valid UTF-8, by the tables of unicode_tables.cpp.
std::string nfc(std::string_view text);

}  // namespace trasmuon::lab
