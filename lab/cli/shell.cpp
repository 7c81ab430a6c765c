// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/shell.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace trasmuon::lab {
namespace {

bool is_plain(unsigned char c) {
  return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("_-./:=,@%+").find(static_cast<char>(c)) != std::string_view::npos;
}

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

/// $'...', the form that can write line breaks and other control characters.
std::string with_escapes(const std::string& word) {
  std::string text = "$'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') text += "\\n";
    else if (c == '\t') text += "\\t";
    else if (is_control(byte)) text += fmt::format("\\{:03o}", byte);
    else if (c == '\'' || c == '\\') text += std::string("\\") + c;
    else text += c;
  }
  return text + "'";
}

}  // namespace

std::string shell_word(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  if (std::any_of(word.begin(), word.end(), is_control)) return with_escapes(word);
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string shell_path(const std::string& path) { return shell_word(path.starts_with('-') ? "./" + path : path); }

}  // namespace trasmuon::lab
