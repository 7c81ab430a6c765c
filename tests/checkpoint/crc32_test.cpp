// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/crc32.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "checkpoint/file_image.h"

namespace trasmuon::test {
namespace {

std::string fast(std::string_view text) {
  char hex[9];
  std::snprintf(hex, sizeof hex, "%08x", static_cast<unsigned>(crc32(std::as_bytes(std::span(text)))));
  return hex;
}

TEST(Crc32, HasThePublishedCheckValues) {
  EXPECT_EQ(fast("123456789"), "cbf43926");
  EXPECT_EQ(fast("The quick brown fox jumps over the lazy dog"), "414fa339");
  EXPECT_EQ(fast(""), "00000000");
}

TEST(Crc32, EqualsTheDefinitionAtEveryLengthAndAlignment) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += static_cast<char>(i * 37 + i / 7);
  for (std::size_t first = 0; first < 9; ++first) {
    for (std::size_t length = 0; first + length <= bytes.size(); ++length) {
      const std::string_view part = std::string_view(bytes).substr(first, length);
      ASSERT_EQ(fast(part), slow_crc32(part)) << "from " << first << ", " << length << " bytes";
    }
  }
}

}  // namespace
}  // namespace trasmuon::test
