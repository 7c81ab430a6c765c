// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace trasmuon::lab {

/// Prints without throwing: a run must not stop because nobody can read what it says. std::ferror(stream) tells.
void print_text(std::FILE* stream, std::string_view text);

template <class... Arguments>
void print(std::FILE* stream, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_text(stream, fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// Columns of the terminal: $COLUMNS, else what the terminal says, else 80. 0 if the stream is no terminal.
int terminal_width(std::FILE* stream);

}  // namespace trasmuon::lab
