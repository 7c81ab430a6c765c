// SPDX-License-Identifier: Apache-2.0
#include "cpu/products/bf16_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

#include "support/reference.h"
#include "trasmuon/trasmuon.h"

namespace trasmuon::cpu {
namespace {

using test::Dense;

/// A random matrix, rounded to bf16, and its blocks.
struct Blocks {
  Dense exact;
  std::vector<Bf16Pair> memory;
  BlockMatrix matrix;

  Blocks(std::int64_t rows, std::int64_t cols) { resize(rows, cols); }
  Blocks(std::int64_t rows, std::int64_t cols, std::mt19937_64& rng) : exact(test::random_normal(rows, cols, rng)) {
    resize(rows, cols);
    const std::int64_t stride = cols + 3;
    std::vector<float> source(static_cast<std::size_t>(rows * stride), -99.0f);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) {
        exact(i, j) = static_cast<double>(to_float(to_bf16(static_cast<float>(exact(i, j)))));
        source[static_cast<std::size_t>(i * stride + j)] = static_cast<float>(4 * exact(i, j));
      }
    }
    load_blocks({source.data(), DType::f32, rows, cols, stride}, 0.25, false, matrix);
  }

  double operator()(std::int64_t i, std::int64_t j) const {
    const Bf16Pair* block = matrix.block(i / kBlockSide, j / kBlockSide);
    const Bf16Pair pair = block[(i % kBlockSide) * kBlockSide / 2 + j % kBlockSide / 2];
    return static_cast<double>(to_float(bf16{static_cast<std::uint16_t>(j % 2 == 0 ? pair : pair >> 16)}));
  }

  /// Whether everything beyond the rows and columns of the matrix is zero.
  bool padded_with_zeros(std::int64_t rows, std::int64_t cols) const {
    for (std::int64_t i = 0; i < matrix.row_blocks * kBlockSide; ++i) {
      for (std::int64_t j = 0; j < matrix.col_blocks * kBlockSide; ++j) {
        if ((i >= rows || j >= cols) && (*this)(i, j) != 0) return false;
      }
    }
    return true;
  }

 private:
  void resize(std::int64_t rows, std::int64_t cols) {
    matrix.row_blocks = block_count(rows);
    matrix.col_blocks = block_count(cols);
    memory.assign(static_cast<std::size_t>(matrix.pairs()), 0x7fc07fc0);  // NaN
    matrix.data = memory.data();
  }
};

std::vector<Bf16Pair> scratch_for(const BlockProduct& p) {
  return std::vector<Bf16Pair>(static_cast<std::size_t>(multiply_scratch(p.out.col_blocks, p.a.col_blocks)));
}

constexpr double kSum = 3e-7;    // times k: rounding of a sum of k terms of order one
constexpr double kRound = 4e-3;  // of a result to bf16, relative

const std::int64_t kShapes[][3] = {{1, 1, 1},     {15, 17, 33},   {32, 32, 32},   {33, 31, 65}, {1, 100, 5},
                                   {100, 1, 600}, {127, 257, 64}, {97, 300, 513}, {64, 64, 64}};

TEST(Bf16Product, MatchesSumsInDoubleOnOddShapes) {
  std::mt19937_64 rng(3);
  for (const auto& [m, n, k] : kShapes) {
    const Blocks a(m, k, rng), b(k, n, rng), b_transposed(n, k, rng);
    for (const bool transpose_b : {false, true}) {
      SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << " " << transpose_b);
      const Dense exact = test::multiply(a.exact, transpose_b ? test::transpose(b_transposed.exact) : b.exact);
      const Blocks out(m, n);
      BlockProduct p{.a = a.matrix,
                     .b = transpose_b ? b_transposed.matrix : b.matrix,
                     .transpose_b = transpose_b,
                     .out = out.matrix};
      auto scratch = scratch_for(p);
      multiply(p, scratch.data());
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          ASSERT_NEAR(out(i, j), exact(i, j), kRound * std::abs(exact(i, j)) + kSum * static_cast<double>(k));
        }
      }
      EXPECT_TRUE(out.padded_with_zeros(m, n));

      for (const bool transposed : {false, true}) {
        const std::int64_t rows = transposed ? n : m, cols = transposed ? m : n, stride = cols + 2;
        std::vector<float> unrounded(static_cast<std::size_t>(rows * stride), -7.0f);
        p.unrounded = {unrounded.data(), DType::f32, rows, cols, stride};
        p.transpose_unrounded = transposed;
        multiply(p, scratch.data());
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < cols; ++j) {
            ASSERT_NEAR(static_cast<double>(unrounded[static_cast<std::size_t>(i * stride + j)]),
                        transposed ? exact(j, i) : exact(i, j), kSum * static_cast<double>(k));
          }
          ASSERT_EQ(unrounded[static_cast<std::size_t>(i * stride + cols)], -7.0f) << "wrote past the row";
        }
      }
    }
  }
}

TEST(Bf16Product, SymmetricResultsAreExactlySymmetric) {
  std::mt19937_64 rng(4);
  for (const std::int64_t n : {1, 15, 31, 32, 33, 64, 97, 129, 290}) {
    const std::int64_t k = 2 * n + 1;
    const Blocks x(n, k, rng), d(n, n, rng), out(n, n);
    const BlockProduct p{.a = x.matrix,
                         .b = x.matrix,
                         .transpose_b = true,
                         .out = out.matrix,
                         .alpha = 0.5f,
                         .beta = -3.0f,
                         .diagonal = 7.0f,
                         .d = d.matrix,
                         .side = n,
                         .symmetric = true};
    auto scratch = scratch_for(p);
    multiply(p, scratch.data());
    const Dense square = test::multiply(x.exact, test::transpose(x.exact));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        const double exact = 0.5 * square(i, j) - 3 * d.exact(i, j) + (i == j ? 7 : 0);
        ASSERT_NEAR(out(i, j), exact, kRound * std::abs(exact) + kSum * static_cast<double>(k + 16));
        ASSERT_EQ(out(i, j), out(j, i)) << n;
      }
    }
    EXPECT_TRUE(out.padded_with_zeros(n, n)) << n;
  }
}

TEST(Bf16Product, ATransposedLoadIsTheTranspose) {
  std::mt19937_64 rng(5);
  const Dense a = test::random_normal(70, 45, rng);
  const std::vector<float> source(a.data.begin(), a.data.end());
  const Blocks straight(70, 45), transposed(45, 70);
  load_blocks({const_cast<float*>(source.data()), DType::f32, 70, 45, 45}, 1, false, straight.matrix);
  load_blocks({const_cast<float*>(source.data()), DType::f32, 70, 45, 45}, 1, true, transposed.matrix);
  for (std::int64_t i = 0; i < 70; ++i) {
    for (std::int64_t j = 0; j < 45; ++j) {
      const float rounded = to_float(to_bf16(source[static_cast<std::size_t>(i * 45 + j)]));
      ASSERT_EQ(straight(i, j), static_cast<double>(rounded));
      ASSERT_EQ(transposed(j, i), static_cast<double>(rounded));
    }
  }
}

TEST(Bf16Product, ScalesBeyondTheRangeOfF32AreApplied) {
  for (const double size : {1e-37, 3e38}) {
    std::vector<float> x(64, static_cast<float>(size));
    const Blocks out(8, 8);
    const double scale = 1 / (static_cast<double>(x[0]) * 1000);
    load_blocks({x.data(), DType::f32, 8, 8, 8}, scale, false, out.matrix);
    EXPECT_NEAR(out(3, 5), 1e-3, 1e-3 * kRound) << size;
  }
}

TEST(Bf16Product, TheNumberOfThreadsDoesNotChangeABit) {
  std::mt19937_64 rng(6);
  const Blocks a(301, 517, rng), b(517, 1260, rng), squared(301, 301), out(301, 1260);
  const BlockProduct gram{.a = a.matrix, .b = a.matrix, .transpose_b = true, .out = squared.matrix, .symmetric = true};
  const BlockProduct full{.a = a.matrix, .b = b.matrix, .out = out.matrix};
  std::vector<Bf16Pair> results[2][2];
  const int before = num_threads();
  for (int run = 0; run < 2; ++run) {
    set_num_threads(1 + 2 * run);
    auto scratch = scratch_for(gram), more_scratch = scratch_for(full);
    multiply(gram, scratch.data());
    multiply(full, more_scratch.data());
    results[run][0] = squared.memory;
    results[run][1] = out.memory;
  }
  set_num_threads(before);
  EXPECT_EQ(results[0][0], results[1][0]);
  EXPECT_EQ(results[0][1], results[1][1]);
}

TEST(Bf16Kernels, AreNotBeyondTheInstructionSetThatTheEnvironmentNames) {
  constexpr std::array<std::string_view, 5> kNames{"baseline", "avx2", "avx512", "avx512_bf16", "amx"};
  const auto place = [&](std::string_view name) { return std::find(kNames.begin(), kNames.end(), name); };
  ASSERT_NE(place(bf16_kernels().isa), kNames.end());
  const char* limit = std::getenv("TRASMUON_ISA");
  if (limit != nullptr) {
    EXPECT_LE(place(bf16_kernels().isa), place(limit));
  }
}

}  // namespace
}  // namespace trasmuon::cpu
