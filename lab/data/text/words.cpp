// SPDX-License-Identifier: Apache-2.0
#include "lab/data/text/words.h"

#include <string>

#include "lab/data/text/unicode.h"

namespace trasmuon::lab {
namespace {

using enum CharacterKind;

bool is_line_break(char32_t code) { return code == '\r' || code == '\n'; }

/// The end of the characters of one kind.
std::size_t run_end(std::string_view text, std::size_t position, CharacterKind kind) {
  for (;;) {
    const Character character = character_at(text, position);
    if (character.kind != kind) return position;
    position += character.bytes;
  }
}

/// The end of 's, 't, 're, 've, 'm, 'll or 'd, or `position`.
std::size_t contraction_end(std::string_view text, std::size_t position) {
  if (text[position] != '\'') return position;
  const std::string_view rest = text.substr(position + 1, 2);
  if (rest.empty()) return position;
  if (std::string_view("stmd").find(rest[0]) != std::string_view::npos) return position + 2;
  return rest == "re" || rest == "ve" || rest == "ll" ? position + 3 : position;
}

/// The same in any case. Of the letters in it, s has a third form: the long s.
std::size_t contraction_end_any_case(std::string_view text, std::size_t position) {
  if (text[position] != '\'') return position;
  if (text.substr(position + 1).starts_with("\u017f")) return position + 3;
  std::string lower(text.substr(position, 3));
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return position + contraction_end(lower, 0);
}

/// The end of white space at `position`: all of it at the end of the text, else all but its last character, which goes
/// with the next word; but at least one character.
std::size_t white_space_end(std::string_view text, std::size_t position) {
  std::size_t last = position, end = position;
  for (Character character = character_at(text, end); character.kind == space; character = character_at(text, end)) {
    last = end;
    end += character.bytes;
  }
  return end == text.size() || last == position ? end : last;
}

/// The end of the last line break in the white space at `position`, or `position` if there is none.
std::size_t last_line_break_end(std::string_view text, std::size_t position) {
  std::size_t found = position;
  for (Character character = character_at(text, position); character.kind == space;
       character = character_at(text, position)) {
    position += character.bytes;
    if (is_line_break(character.code)) found = position;
  }
  return found;
}

}  // namespace

std::size_t gpt2_word_end(std::string_view text, std::size_t position) {
  if (const std::size_t end = contraction_end(text, position); end != position) return end;
  const Character first = character_at(text, position);
  if (first.code == ' ') {
    const Character next = character_at(text, position + 1);
    if (next.kind == letter || next.kind == number || next.kind == other) return run_end(text, position + 1, next.kind);
  }
  return first.kind == space ? white_space_end(text, position) : run_end(text, position, first.kind);
}

std::size_t qwen_word_end(std::string_view text, std::size_t position) {
  if (const std::size_t end = contraction_end_any_case(text, position); end != position) return end;
  const Character first = character_at(text, position);
  const std::size_t behind = position + first.bytes;
  if (first.kind == letter) return run_end(text, position, letter);
  if (first.kind == number) return behind;
  const Character next = character_at(text, behind);
  if (next.kind == letter && !is_line_break(first.code)) return run_end(text, behind, letter);
  if (first.kind == other || (first.code == ' ' && next.kind == other)) {
    std::size_t end = run_end(text, behind, other);
    while (end < text.size() && is_line_break(static_cast<unsigned char>(text[end]))) ++end;
    return end;
  }
  if (const std::size_t end = last_line_break_end(text, position); end != position) return end;
  return white_space_end(text, position);
}

}  // namespace trasmuon::lab
