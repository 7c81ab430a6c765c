// SPDX-License-Identifier: Apache-2.0
#include "cpu/orthonormal_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support/reference.h"

namespace trasmuon::cpu {
namespace {

template <class T>
std::vector<T> orthonormal(const test::Dense& x) {
  std::vector<T> rows(x.data.begin(), x.data.end());
  std::vector<T> scratch(static_cast<std::size_t>(orthonormal_rows_scratch<T>(x.rows, x.cols)));
  std::vector<double> errors(static_cast<std::size_t>(x.rows));
  orthonormal_rows(rows.data(), x.rows, x.cols, errors.data(), scratch.data());
  return rows;
}

template <class T>
double worst_inner_product(const std::vector<T>& rows, std::int64_t count, std::int64_t cols) {
  double worst = 0;
  for (std::int64_t a = 0; a < count; ++a) {
    for (std::int64_t b = 0; b <= a; ++b) {
      double sum = 0;
      for (std::int64_t j = 0; j < cols; ++j) {
        sum += static_cast<double>(rows[static_cast<std::size_t>(a * cols + j)]) *
               static_cast<double>(rows[static_cast<std::size_t>(b * cols + j)]);
      }
      worst = std::max(worst, std::abs(sum - (a == b ? 1 : 0)));
    }
  }
  return worst;
}

TEST(OrthonormalRows, AreOrthonormalToRoundingEvenWhenIllConditioned) {
  std::mt19937_64 rng(1);
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 5}, {16, 16}, {17, 40}, {50, 61}}) {
    test::Dense x = test::random_normal(rows, cols, rng);
    for (std::int64_t i = 1; i < rows; ++i) {  // nearly parallel to the row before
      for (std::int64_t j = 0; j < cols; ++j) x(i, j) = x(i - 1, j) + 1e-3 * x(i, j);
    }
    EXPECT_LT(worst_inner_product(orthonormal<double>(x), rows, cols), 1e-13);
    EXPECT_LT(worst_inner_product(orthonormal<float>(x), rows, cols), 2e-5);
  }
}

TEST(OrthonormalRows, DependentRowsBecomeZero) {
  std::mt19937_64 rng(2);
  test::Dense x = test::random_normal(20, 30, rng);
  for (std::int64_t j = 0; j < 30; ++j) x(17, j) = 2 * x(3, j) - x(5, j), x(4, j) = 0;
  const auto rows = orthonormal<double>(x);
  for (std::int64_t j = 0; j < 30; ++j) {
    EXPECT_EQ(rows[static_cast<std::size_t>(17 * 30 + j)], 0);
    EXPECT_EQ(rows[static_cast<std::size_t>(4 * 30 + j)], 0);
  }
  EXPECT_NE(rows[18 * 30], 0);
}

TEST(OrthonormalRows, ScaleDoesNotMatter) {
  std::mt19937_64 rng(3);
  for (double scale : {1e-30, 1e30}) {
    EXPECT_LT(worst_inner_product(orthonormal<float>(test::random_normal(20, 33, rng, scale)), 20, 33), 1e-5);
  }
}

}  // namespace
}  // namespace trasmuon::cpu
