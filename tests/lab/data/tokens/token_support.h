// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/data/tokens/token_file.h"

namespace trasmuon::test {

/// The bytes of a token file with the format for this vocabulary.
inline std::string token_file_bytes(const std::vector<std::int64_t>& tokens, std::int64_t vocabulary) {
  const int width = lab::token_bytes(vocabulary);
  std::string bytes = lab::token_header(static_cast<std::int64_t>(tokens.size()), width);
  for (const std::int64_t token : tokens) {
    for (int i = 0; i < width; ++i) bytes += static_cast<char>(token >> 8 * i & 255);
  }
  return bytes;
}

}  // namespace trasmuon::test
