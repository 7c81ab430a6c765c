// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace trasmuon {
namespace {

/// The value of a binary16 pattern, by its definition.
double f16_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

TEST(Half, EveryF16PatternConvertsExactlyAndBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const f16 x{static_cast<std::uint16_t>(bits)};
    const double expected = f16_value(x.bits);
    const float value = to_float(x);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_TRUE(std::isnan(to_float(to_f16(value))));
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
      ASSERT_EQ(to_f16(value).bits, x.bits) << bits;
    }
  }
}

TEST(Half, EveryBf16PatternConvertsExactlyAndBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const bf16 x{static_cast<std::uint16_t>(bits)};
    const float value = to_float(x);
    if (std::isnan(value)) EXPECT_TRUE(std::isnan(to_float(to_bf16(value))));
    else ASSERT_EQ(to_bf16(value).bits, x.bits) << bits;
  }
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  std::mt19937 rng(3);
  for (int i = 0; i < 200000; ++i) {
    const float x = float_from_bits((rng() & 0x8fffffffu) | 0x30000000u);  // around the range of f16
    if (!std::isfinite(x)) continue;
    const double rounded = static_cast<double>(to_float(to_f16(x)));
    if (std::abs(x) >= 65520.0f) {
      ASSERT_TRUE(std::isinf(rounded)) << x;
      continue;
    }
    const std::uint16_t bits = to_f16(x).bits;
    for (int step : {-1, 1}) {
      const double neighbour = f16_value(static_cast<std::uint16_t>(bits + step));
      if (!std::isfinite(neighbour)) continue;
      ASSERT_LE(std::abs(rounded - static_cast<double>(x)), std::abs(neighbour - static_cast<double>(x))) << x;
    }
  }
  EXPECT_EQ(to_f16(1.0f + 0x1p-11f).bits, to_f16(1.0f).bits);             // a tie, to even
  EXPECT_EQ(to_float(to_f16(1.0f + 3 * 0x1p-11f)), 1.0f + 2 * 0x1p-10f);  // a tie, to even, upwards
  EXPECT_EQ(to_float(to_bf16(1.0f + 0x1p-8f)), 1.0f);
  EXPECT_EQ(to_float(to_bf16(1.0f + 3 * 0x1p-8f)), 1.0f + 0x1p-6f);
}

}  // namespace
}  // namespace trasmuon
