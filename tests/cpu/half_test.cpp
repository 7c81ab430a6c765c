// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "cpu/kernels.h"

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

TEST(Kernels, RowKernelsMatchPlainLoops) {
  const auto& kernel = cpu::kernels<float>();
  std::mt19937 rng(5);
  std::normal_distribution<float> normal;
  for (std::int64_t n : {1, 7, 15, 16, 31, 32, 33, 100, 1001}) {
    const auto size = static_cast<std::size_t>(n);
    std::vector<float> m(size), o(size), right(size);
    std::vector<bf16> g(size), w(size);
    for (std::size_t j = 0; j < size; ++j) {
      m[j] = normal(rng), o[j] = normal(rng), right[j] = normal(rng);
      g[j] = to_bf16(normal(rng)), w[j] = to_bf16(normal(rng));
    }
    const std::vector<float> m0 = m;
    const std::vector<bf16> w0 = w;
    constexpr int kBf16 = static_cast<int>(DType::bf16);
    kernel.momentum[kBf16](m.data(), g.data(), 0.9f, n);
    kernel.apply[kBf16](w.data(), o.data(), right.data(), 0.5f, 0.99f, n);
    double squares = 0, scaled = 0;
    for (std::size_t j = 0; j < size; ++j) {
      EXPECT_NEAR(m[j], 0.9f * m0[j] + 0.1f * to_float(g[j]), 1e-6f);
      const float updated = 0.99f * to_float(w0[j]) - 0.5f * right[j] * o[j];
      EXPECT_NEAR(to_float(w[j]), updated, std::abs(updated) * 0x1p-8f + 1e-6f);
      squares += static_cast<double>(o[j]) * o[j];
      scaled += std::pow(static_cast<double>(o[j]) * right[j], 2);
    }
    EXPECT_NEAR(kernel.sum_squares(o.data(), n), squares, 1e-12 * squares);
    EXPECT_NEAR(kernel.sum_squares_scaled(o.data(), right.data(), n), scaled, 1e-12 * scaled);
    EXPECT_TRUE(kernel.all_usable[kBf16](g.data(), n));
    g[size - 1] = to_bf16(std::numeric_limits<float>::quiet_NaN());
    EXPECT_FALSE(kernel.all_usable[kBf16](g.data(), n));
    g[size - 1] = to_bf16(-std::numeric_limits<float>::infinity());
    EXPECT_FALSE(kernel.all_usable[kBf16](g.data(), n));
  }
}

}  // namespace
}  // namespace trasmuon
