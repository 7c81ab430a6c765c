// SPDX-License-Identifier: Apache-2.0
#include "cpu/products/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "support/reference.h"
#include "trasmuon/threads.h"

namespace trasmuon::cpu {
namespace {

using test::Dense;

template <class T>
class Gemm : public testing::Test {
 protected:
  std::mt19937_64 rng{7};
  const double tolerance = sizeof(T) == 8 ? 1e-14 : 2e-6;  // times k: rounding of a sum of k terms of order one

  /// A random operand of that shape with padding, stored by rows or by columns.
  struct Random {
    Dense exact;
    std::vector<T> memory;
    Operand<T> operand;
  };
  Random make(std::int64_t rows, std::int64_t cols, bool by_columns, double scale = 1) {
    Random r;
    r.exact = test::random_normal(rows, cols, rng);
    for (double& x : r.exact.data) x = static_cast<double>(static_cast<T>(x));
    const std::int64_t ld = (by_columns ? rows : cols) + 3;
    r.memory.assign(static_cast<std::size_t>(ld * (by_columns ? cols : rows)), T(-99));
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) {
        r.memory[static_cast<std::size_t>(by_columns ? j * ld + i : i * ld + j)] = static_cast<T>(r.exact(i, j));
      }
    }
    r.operand = {r.memory.data(), by_columns ? 1 : ld, by_columns ? ld : 1, scale};
    for (double& x : r.exact.data) x *= scale;
    return r;
  }
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Gemm, Types);

TYPED_TEST(Gemm, MatchesPlainLoopsOnOddShapesAndStrides) {
  using T = TypeParam;
  const std::int64_t shapes[][3] = {{1, 1, 1},   {5, 7, 3},     {12, 32, 256},  {13, 33, 257}, {33, 65, 17},
                                    {1, 100, 5}, {100, 1, 600}, {127, 257, 64}, {97, 70, 513}};
  for (const auto& [m, n, k] : shapes) {
    for (int variant = 0; variant < 4; ++variant) {
      const auto a = this->make(m, k, variant & 1, 0.5), b = this->make(k, n, variant & 2);
      const auto d = this->make(m, n, false);
      const std::int64_t ldc = n + 2;
      std::vector<T> c(static_cast<std::size_t>(m * ldc), T(-7));
      std::vector<T> scratch(static_cast<std::size_t>(multiply_scratch<T>(m, n, k)));
      multiply<T>({.m = m,
                   .n = n,
                   .k = k,
                   .a = a.operand,
                   .b = b.operand,
                   .c = c.data(),
                   .ldc = ldc,
                   .alpha = T(2),
                   .d = d.operand.data,
                   .ldd = d.operand.row_stride,
                   .beta = T(-3),
                   .diagonal = T(4)},
                  scratch.data());
      const Dense product = test::multiply(a.exact, b.exact);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          const double expected = 2 * product(i, j) - 3 * d.exact(i, j) + (i == j ? 4 : 0);
          ASSERT_NEAR(static_cast<double>(c[static_cast<std::size_t>(i * ldc + j)]), expected,
                      this->tolerance * static_cast<double>(k + 8))
              << m << "x" << n << "x" << k << " variant " << variant << " at " << i << "," << j;
        }
        EXPECT_EQ(c[static_cast<std::size_t>(i * ldc + n)], T(-7)) << "wrote past the row";
      }
    }
  }
}

TYPED_TEST(Gemm, SymmetricEqualsFullAndIsExactlySymmetric) {
  using T = TypeParam;
  for (std::int64_t n : {1, 2, 11, 12, 13, 31, 33, 64, 97, 200, 300}) {
    const std::int64_t k = 2 * n + 1;
    const auto x = this->make(n, k, n % 2 == 0);
    std::vector<T> half(static_cast<std::size_t>(n * n)), full(half);
    std::vector<T> scratch(static_cast<std::size_t>(multiply_scratch<T>(n, n, k)));
    Product<T> p{.m = n,
                 .n = n,
                 .k = k,
                 .a = x.operand,
                 .b = x.operand.transpose(),
                 .c = full.data(),
                 .ldc = n,
                 .diagonal = T(1)};
    multiply(p, scratch.data());
    p.c = half.data();
    p.symmetric = true;
    multiply(p, scratch.data());
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        ASSERT_NEAR(static_cast<double>(half[static_cast<std::size_t>(i * n + j)]),
                    static_cast<double>(full[static_cast<std::size_t>(i * n + j)]),
                    this->tolerance * static_cast<double>(k));
        ASSERT_EQ(half[static_cast<std::size_t>(i * n + j)], half[static_cast<std::size_t>(j * n + i)]);
      }
    }
  }
}

TYPED_TEST(Gemm, AnEmptySumLeavesTheAddedTerms) {
  using T = TypeParam;
  std::vector<T> d = {1, 2, 3, 4}, c(4, T(9)), scratch(static_cast<std::size_t>(multiply_scratch<T>(2, 2, 0)));
  multiply<T>({.m = 2,
               .n = 2,
               .k = 0,
               .a = {d.data(), 2, 1},
               .b = {d.data(), 2, 1},
               .c = c.data(),
               .ldc = 2,
               .d = d.data(),
               .ldd = 2,
               .beta = T(2),
               .diagonal = T(1)},
              scratch.data());
  EXPECT_EQ(c, (std::vector<T>{3, 4, 6, 9}));
}

TYPED_TEST(Gemm, TheNumberOfThreadsDoesNotChangeABit) {
  using T = TypeParam;
  const auto a = this->make(301, 517, false), b = this->make(517, 260, true);
  std::vector<T> scratch(static_cast<std::size_t>(multiply_scratch<T>(301, 260, 517)));
  std::vector<T> results[3];
  const int before = num_threads();
  for (int run = 0; run < 3; ++run) {
    set_num_threads(run + 1);
    results[run].resize(301 * 260);
    multiply<T>({.m = 301, .n = 260, .k = 517, .a = a.operand, .b = b.operand, .c = results[run].data(), .ldc = 260},
                scratch.data());
  }
  set_num_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(GemmScale, TinyInputsSurviveTheScale) {
  // 1e-30 squared is zero in f32; scaled while packing it is one.
  const std::vector<float> x = {1e-30f};
  std::vector<float> c(1), scratch(static_cast<std::size_t>(multiply_scratch<float>(1, 1, 1)));
  const Operand<float> o{x.data(), 1, 1, 1e30};
  multiply<float>({.m = 1, .n = 1, .k = 1, .a = o, .b = o, .c = c.data(), .ldc = 1}, scratch.data());
  EXPECT_NEAR(c[0], 1.0f, 1e-6f);
}

}  // namespace
}  // namespace trasmuon::cpu
