// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trasmuon::lab {

/// FNV-1a, 64 bits, of text that comes in pieces.
class Checksum {
 public:
  void add(std::string_view text) {
    for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  std::string text() const;  ///< 16 hexadecimal digits, as kDigits says
  static constexpr std::size_t kDigits = 16;

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

std::string checksum(std::string_view text);

}  // namespace trasmuon::lab
