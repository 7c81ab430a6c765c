// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace trasmuon::lab {

void print_text(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

int terminal_width(std::FILE* stream) {
  constexpr int kUsual = 80, kMost = 10000;
  const int descriptor = ::fileno(stream);
  if (descriptor < 0 || ::isatty(descriptor) == 0) return 0;
  if (const char* columns = std::getenv("COLUMNS")) {
    const long width = std::strtol(columns, nullptr, 10);
    if (width > 0 && width <= kMost) return static_cast<int>(width);
  }
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

}  // namespace trasmuon::lab
