// SPDX-License-Identifier: Apache-2.0
#include "lab/data/text/unicode.h"

#include <algorithm>
#include <array>

#include "lab/data/text/unicode_tables.h"

namespace trasmuon::lab {
namespace {

CharacterKind kind_of(char32_t code) {
  const auto* end = unicode::kKinds + unicode::kKindsCount;
  const auto* after = std::upper_bound(unicode::kKinds, end, code,
                                       [](char32_t c, const unicode::Stretch& stretch) { return c < stretch.first; });
  return static_cast<CharacterKind>(after[-1].value);  // the first stretch begins with code 0
}

const std::array<CharacterKind, 128> kAsciiKinds = [] {
  std::array<CharacterKind, 128> kinds{};
  for (std::size_t code = 0; code < kinds.size(); ++code) kinds[code] = kind_of(static_cast<char32_t>(code));
  return kinds;
}();

std::uint8_t byte_at(std::string_view text, std::size_t position) {
  return position < text.size() ? static_cast<std::uint8_t>(text[position]) : 0;
}

bool continues(std::uint8_t byte) { return (byte & 0xc0) == 0x80; }

/// The bytes of the valid character at `position`, or 0.
std::size_t valid_character(std::string_view text, std::size_t position) {
  const std::uint8_t a = byte_at(text, position), b = byte_at(text, position + 1);
  if (a < 0x80) return 1;
  if (a >= 0xc2 && a <= 0xdf) return continues(b) ? 2 : 0;
  const bool third = continues(byte_at(text, position + 2));
  if (a >= 0xe0 && a <= 0xef) {  // neither longer than need be nor a surrogate
    const bool second = continues(b) && !(a == 0xe0 && b < 0xa0) && !(a == 0xed && b > 0x9f);
    return second && third ? 3 : 0;
  }
  if (a < 0xf0 || a > 0xf4) return 0;
  const bool second = continues(b) && !(a == 0xf0 && b < 0x90) && !(a == 0xf4 && b > 0x8f);
  return second && third && continues(byte_at(text, position + 3)) ? 4 : 0;
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t bytes = valid_character(text, position);
    if (bytes == 0) break;
    position += bytes;
  }
  return position;
}

Character character_at(std::string_view text, std::size_t position) {
  if (position >= text.size()) return {};
  const auto at = [&](std::size_t i) { return static_cast<char32_t>(byte_at(text, position + i) & 0x3f); };
  const std::uint8_t lead = byte_at(text, position);
  if (lead < 0x80) return {lead, 1, kAsciiKinds[lead]};
  Character character;
  if (lead < 0xe0) character = {(lead & 0x1fU) << 6 | at(1), 2};
  else if (lead < 0xf0) character = {(lead & 0xfU) << 12 | at(1) << 6 | at(2), 3};
  else character = {(lead & 0x7U) << 18 | at(1) << 12 | at(2) << 6 | at(3), 4};
  character.kind = kind_of(character.code);
  return character;
}

void append_utf8(char32_t code, std::string& out) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) put(0xc0 | code >> 6);
  else if (code < 0x10000) put(0xe0 | code >> 12);
  else put(0xf0 | code >> 18), put(0x80 | (code >> 12 & 0x3f));
  if (code >= 0x800) put(0x80 | (code >> 6 & 0x3f));
  put(0x80 | (code & 0x3f));
}

}  // namespace trasmuon::lab
