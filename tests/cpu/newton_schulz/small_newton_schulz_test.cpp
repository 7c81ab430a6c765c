// SPDX-License-Identifier: Apache-2.0
#include "cpu/newton_schulz/small_newton_schulz.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "cpu/kernels.h"
#include "support/reference.h"
#include "trasmuon/newton_schulz.h"

namespace trasmuon::cpu {
namespace {

using test::Dense;

static_assert(is_small(16, 16) && is_small(4096, 16) && is_small(64, 1024) && is_small(128, 512));
static_assert(!is_small(15, 64) && !is_small(129, 129) && !is_small(16, 4097) && !is_small(513, 128));

template <class T>
class Small : public testing::Test {
 protected:
  std::mt19937_64 rng{21};
  const double rounding = sizeof(T) == 8 ? 1e-14 : 2e-6;  // times the depth, as in gemm_test.cpp

  /// Random numbers of type T.
  Dense random(std::int64_t rows, std::int64_t cols) {
    Dense a = test::random_normal(rows, cols, rng);
    for (double& x : a.data) x = static_cast<double>(static_cast<T>(x));
    return a;
  }
  /// Stored in `rows` rows of `stride`; what is left has the value `rest`.
  static std::vector<T> stored(const Dense& a, std::int64_t rows, std::int64_t stride, T rest) {
    std::vector<T> memory(static_cast<std::size_t>(rows * stride), rest);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      for (std::int64_t j = 0; j < a.cols; ++j) {
        memory[static_cast<std::size_t>(i * stride + j)] = static_cast<T>(a(i, j));
      }
    }
    return memory;
  }
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Small, Types);

TYPED_TEST(Small, ProductsMatchPlainLoops) {
  using T = TypeParam;
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{16, 16}, {16, 48}, {64, 32}, {144, 80}}) {
    for (const std::int64_t depth : {1, 15, 16, 127, 128, 129, 300}) {
      for (const bool transpose_a : {false, true}) {
        SCOPED_TRACE(testing::Message() << rows << " x " << cols << " over " << depth << " " << transpose_a);
        const Dense a = this->random(rows, depth), b = this->random(depth, cols), d = this->random(rows, cols);
        const std::int64_t stride = std::max({rows, cols, depth}) + 3;
        const auto left = this->stored(transpose_a ? test::transpose(a) : a, std::max(rows, depth), stride, T(-99));
        const auto right = this->stored(b, depth, stride, T(-99)), added = this->stored(d, rows, stride, T(-99));
        std::vector<T> c(static_cast<std::size_t>(rows * stride), T(-7));
        kernels<T>().small_product({.rows = rows,
                                    .cols = cols,
                                    .depth = depth,
                                    .stride = stride,
                                    .a = left.data(),
                                    .b = right.data(),
                                    .c = c.data(),
                                    .transpose_a = transpose_a,
                                    .alpha = T(0.5),
                                    .d = added.data(),
                                    .beta = T(-2)});
        const Dense product = test::multiply(a, b);
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < stride; ++j) {
            const T found = c[static_cast<std::size_t>(i * stride + j)];
            if (j >= cols) ASSERT_EQ(found, T(-7)) << "written beside the result";
            else ASSERT_NEAR(found, 0.5 * product(i, j) - 2 * d(i, j), this->rounding * static_cast<double>(depth + 4));
          }
        }
      }
    }
  }
}

TYPED_TEST(Small, SymmetricProductsAreMirroredToTheBit) {
  using T = TypeParam;
  for (const std::int64_t side : {16, 32, 48, 80, 128}) {
    for (const std::int64_t depth : {1, 100, 200}) {
      const Dense x = this->random(depth, side);
      const std::int64_t stride = side + 5;
      const auto memory = this->stored(x, depth, stride, T(-99));
      std::vector<T> c(static_cast<std::size_t>(side * stride), T(-7));
      kernels<T>().small_product({.rows = side,
                                  .cols = side,
                                  .depth = depth,
                                  .stride = stride,
                                  .a = memory.data(),
                                  .b = memory.data(),
                                  .c = c.data(),
                                  .transpose_a = true,
                                  .diagonal = T(3),
                                  .symmetric = true});
      const Dense product = test::multiply(test::transpose(x), x);
      for (std::int64_t i = 0; i < side; ++i) {
        for (std::int64_t j = 0; j < stride; ++j) {
          const T found = c[static_cast<std::size_t>(i * stride + j)];
          if (j >= side) {
            ASSERT_EQ(found, T(-7)) << "written beside the result";
            continue;
          }
          ASSERT_EQ(found, c[static_cast<std::size_t>(j * stride + i)]);
          ASSERT_NEAR(found, product(i, j) + (i == j ? 3 : 0), this->rounding * static_cast<double>(depth + 4));
        }
      }
    }
  }
}

TYPED_TEST(Small, TransposesOddShapes) {
  using T = TypeParam;
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 40}, {40, 1}, {16, 16}, {33, 70}}) {
    const Dense a = this->random(rows, cols);
    const auto from = this->stored(a, rows, cols + 2, T(-99));
    std::vector<T> to(static_cast<std::size_t>(cols * (rows + 1)), T(-7));
    kernels<T>().transpose(from.data(), cols + 2, rows, cols, to.data(), rows + 1);
    EXPECT_EQ(to, this->stored(test::transpose(a), cols, rows + 1, T(-7))) << rows << " x " << cols;
  }
}

TYPED_TEST(Small, MatchesThePlainIterationOnOddShapes) {
  using T = TypeParam;
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{16, 16},  {17, 16},   {31, 33},  {64, 64},
                                                          {65, 200}, {130, 128}, {500, 48}, {128, 300}};
  for (const auto& [rows, cols] : shapes) {
    ASSERT_TRUE(is_small(rows, cols));
    const Dense a = this->random(rows, cols);
    std::vector<T> in = this->stored(a, rows, cols + 7, T(-99)), out(static_cast<std::size_t>(rows * cols + 1), T(-7));
    const double scale = 1 / test::frobenius(a);
    for (const int steps : {1, 2, 5, 8}) {
      const auto triples = newton_schulz_triples("keller", steps);
      const Dense exact = test::newton_schulz(a, scale, triples);
      for (const NewtonSchulzForm form : {NewtonSchulzForm::standard, NewtonSchulzForm::gram}) {
        SCOPED_TRACE(testing::Message() << rows << " x " << cols << " steps " << steps << " form "
                                        << static_cast<int>(form));
        Scratch scratch;
        small_newton_schulz<T>({in.data(), dtype_of<T>(), rows, cols, cols + 7}, scale, triples, form, out.data(),
                               scratch);
        EXPECT_EQ(scratch.capacity(), small_newton_schulz_scratch<T>(rows, cols, form));
        EXPECT_EQ(out.back(), T(-7));
        double worst = 0;
        for (std::size_t i = 0; i < exact.data.size(); ++i) {
          worst = std::max(worst, std::abs(static_cast<double>(out[i]) - exact.data[i]));
        }
        // As in newton_schulz_test.cpp; a square has singular values near 0, whose squares the Gram form loses in f32.
        const double single = form == NewtonSchulzForm::gram && steps > 5 ? 1e-3 : 1e-4;
        EXPECT_LE(worst, sizeof(T) == 8 ? 1e-12 : single);
      }
    }
  }
}

}  // namespace
}  // namespace trasmuon::cpu
