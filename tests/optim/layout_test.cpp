// SPDX-License-Identifier: Apache-2.0
// However a parameter is stored, it is stepped like the plain matrices it consists of.
#include <gtest/gtest.h>

#include "support/model.h"

namespace trasmuon {
namespace {

using test::random_values;
using test::Single;

constexpr int kSteps = 5;

Options quick(Options options) {
  std::visit([](auto& o) { o.lr = 0.05; }, options);
  return options;
}

std::vector<Options> matrix_rules() {
  auto rules = test::all_rules();
  rules.pop_back();  // AdamW
  for (Options& rule : rules) rule = quick(rule);
  return rules;
}

TEST(Layout, ABatchIsItsMatrices) {
  for (const Options& rule : matrix_rules()) {
    if (std::holds_alternative<DionOptions>(rule)) continue;  // its random start depends on the parameter
    std::mt19937_64 rng(51);
    const auto w0 = random_values<float>(3 * 6 * 10, rng);
    Single<float> batch(rule, w0, {3, 6, 10});
    std::vector<Single<float>> parts;
    for (int e = 0; e < 3; ++e)
      parts.emplace_back(rule, std::vector<float>(w0.begin() + e * 60, w0.begin() + (e + 1) * 60), Shape{6, 10});
    for (int step = 0; step < kSteps; ++step) {
      const auto g = random_values<float>(180, rng);
      batch.step(g);
      for (int e = 0; e < 3; ++e)
        parts[static_cast<std::size_t>(e)].step(std::vector<float>(g.begin() + e * 60, g.begin() + (e + 1) * 60));
    }
    for (std::size_t i = 0; i < 180; ++i) EXPECT_EQ(batch.w[i], parts[i / 60].w[i % 60]) << rule_name(rule);
  }
}

TEST(Layout, RowBlocksAreSeparateMatrices) {
  const std::vector<std::int64_t> blocks = {8, 4, 4};  // fused QKV with fewer key-value heads
  for (const Options& rule : matrix_rules()) {
    if (std::holds_alternative<DionOptions>(rule)) continue;
    std::mt19937_64 rng(52);
    const auto w0 = random_values<double>(16 * 9, rng);
    Single<double> fused(rule, w0, {16, 9}, [&](Parameter& p) { p.row_blocks = blocks; });
    std::vector<Single<double>> parts;
    for (std::size_t b = 0, first = 0; b < 3; first += static_cast<std::size_t>(blocks[b++]) * 9) {
      const auto begin = w0.begin() + static_cast<std::ptrdiff_t>(first);
      parts.emplace_back(rule, std::vector<double>(begin, begin + blocks[b] * 9), Shape{blocks[b], 9});
    }
    for (int step = 0; step < kSteps; ++step) {
      const auto g = random_values<double>(16 * 9, rng);
      fused.step(g);
      for (std::size_t b = 0, first = 0; b < 3; first += static_cast<std::size_t>(blocks[b++]) * 9) {
        const auto begin = g.begin() + static_cast<std::ptrdiff_t>(first);
        parts[b].step(std::vector<double>(begin, begin + blocks[b] * 9));
      }
    }
    std::vector<double> together;
    for (const auto& part : parts) together.insert(together.end(), part.w.begin(), part.w.end());
    EXPECT_EQ(fused.w, together) << rule_name(rule);
  }
}

TEST(Layout, StoredTransposedIsTheSameMatrix) {
  for (const Options& rule : matrix_rules()) {
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{6, 11}, {11, 6}}) {
      std::mt19937_64 rng(53);
      auto flip = [m = m, n = n](const std::vector<double>& x) {
        std::vector<double> y(x.size());
        for (std::int64_t i = 0; i < m; ++i) {
          for (std::int64_t j = 0; j < n; ++j)
            y[static_cast<std::size_t>(j * m + i)] = x[static_cast<std::size_t>(i * n + j)];
        }
        return y;
      };
      const auto w0 = random_values<double>(m * n, rng);
      Single<double> plain(rule, w0, {m, n});
      Single<double> turned(rule, flip(w0), {n, m}, [m = m](Parameter& p) {
        p.transposed = true;
        p.row_blocks = {m};
      });
      for (int step = 0; step < kSteps; ++step) {
        const auto g = random_values<double>(m * n, rng);
        plain.step(g);
        turned.step(flip(g));
      }
      const auto expected = flip(plain.w);
      for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(turned.w[i], expected[i], 1e-9) << rule_name(rule);
    }
  }
}

TEST(Layout, TransposedRowBlocksAreColumnsOfTheStorage) {
  const TrasMuonOptions rule{.lr = 0.05, .min_damped_dim = 1};
  std::mt19937_64 rng(54);
  const auto w0 = random_values<double>(5 * 8, rng);  // [in 5, out 8]
  auto columns = [](const std::vector<double>& x, std::size_t first, std::size_t count) {
    std::vector<double> part;
    for (std::size_t i = 0; i < 5; ++i)
      part.insert(part.end(), x.begin() + static_cast<std::ptrdiff_t>(i * 8 + first),
                  x.begin() + static_cast<std::ptrdiff_t>(i * 8 + first + count));
    return part;
  };
  Single<double> fused(rule, w0, {5, 8}, [](Parameter& p) { p.transposed = true, p.row_blocks = {3, 5}; });
  Single<double> left(rule, columns(w0, 0, 3), {5, 3}, [](Parameter& p) { p.transposed = true; });
  Single<double> right(rule, columns(w0, 3, 5), {5, 5}, [](Parameter& p) { p.transposed = true; });
  for (int step = 0; step < kSteps; ++step) {
    const auto g = random_values<double>(40, rng);
    fused.step(g);
    left.step(columns(g, 0, 3));
    right.step(columns(g, 3, 5));
  }
  EXPECT_EQ(columns(fused.w, 0, 3), left.w);
  EXPECT_EQ(columns(fused.w, 3, 5), right.w);
}

TEST(Layout, ConvolutionsAreFlattened) {
  for (const Options& rule : matrix_rules()) {
    std::mt19937_64 rng(55);
    const auto w0 = random_values<float>(6 * 3 * 2 * 2, rng);
    Single<float> convolution(rule, w0, {6, 3, 2, 2}), matrix(rule, w0, {6, 12});
    Single<float> one_dimensional(rule, w0, {6, 3, 4}, [](Parameter& p) { p.layout = Layout::flatten; });
    for (int step = 0; step < kSteps; ++step) {
      const auto g = random_values<float>(72, rng);
      convolution.step(g);
      matrix.step(g);
      one_dimensional.step(g);
    }
    EXPECT_EQ(convolution.w, matrix.w) << rule_name(rule);
    EXPECT_EQ(one_dimensional.w, matrix.w) << rule_name(rule);
  }
}

TEST(Layout, RowStridesAreRespectedAndTheGapsLeftAlone) {
  for (Options rule : test::all_rules()) {
    rule = quick(rule);
    std::mt19937_64 rng(56);
    const std::int64_t rows = 5, cols = 7, stride = 10;
    const auto w0 = random_values<float>(rows * cols, rng);
    Single<float> packed(rule, w0, {rows, cols});
    auto spread = [&](const std::vector<float>& x) {
      std::vector<float> y(static_cast<std::size_t>(rows * stride), 123.0f);
      for (std::int64_t i = 0; i < rows; ++i) std::copy_n(x.begin() + i * cols, cols, y.begin() + i * stride);
      return y;
    };
    auto w = spread(w0);
    Optimizer strided({{rule, {{"w", view(w.data(), {rows, cols}, stride)}}}});
    for (int step = 0; step < kSteps; ++step) {
      const auto g = random_values<float>(rows * cols, rng);
      packed.step(g);
      const auto wide = spread(g);
      const TensorView gradient = view(wide.data(), {rows, cols}, stride);
      strided.step({&gradient, 1});
    }
    EXPECT_EQ(w, spread(packed.w)) << rule_name(rule);
  }
}

TEST(Layout, EqualBlocksDivideExactly) {
  EXPECT_EQ(equal_blocks(12, 3), (std::vector<std::int64_t>{4, 4, 4}));
  EXPECT_EQ(test::error_of([] { equal_blocks(10, 3); }),
            "equal_blocks: count must divide rows, got 3 blocks of 10 rows");
}

}  // namespace
}  // namespace trasmuon
