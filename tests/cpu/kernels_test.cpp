// SPDX-License-Identifier: Apache-2.0
#include "cpu/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "trasmuon/half.h"

namespace trasmuon::cpu {
namespace {

TEST(Kernels, RowKernelsMatchPlainLoops) {
  const auto& kernel = kernels<float>();
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
}  // namespace trasmuon::cpu
