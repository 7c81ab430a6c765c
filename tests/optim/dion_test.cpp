// SPDX-License-Identifier: Apache-2.0
#include "support/dion_rank.h"

namespace trasmuon::test {
namespace {

TEST(Dion, AStepHasTheRankOfItsGradients) {
  Memory memory;
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{8, 8}, {20, 300}, {33, 17}, {100, 100}}) {
    for (int k : {1, 2, 3}) {
      expect_steps_of_rank<float>(m, n, k, 30, 8, memory);
      expect_steps_of_rank<double>(m, n, k, 30, 8, memory);
    }
  }
  expect_steps_of_rank<float>(48, 700, 5, 10, 8, memory);
  expect_steps_of_rank<float>(24, 40, 1, 2, 300, memory);  // rounding errors in M do not add up to a direction
}

TEST(Dion, AFullRankStepUsesEveryColumn) {
  std::mt19937_64 rng(3);
  for (const std::int64_t side : {16, 64, 200}) {
    auto w = random_values<float>(side * side, rng);
    Optimizer optimizer({{DionOptions{}, {{"w", view(w.data(), {side, side})}}}}, {.diagnostics = true});
    for (int step = 0; step < 4; ++step) {
      const auto g = random_values<float>(side * side, rng);
      const TensorView gradient = view(g.data(), {side, side});
      optimizer.step({&gradient, 1});
      EXPECT_NEAR(columns_of_step(optimizer, side, side), static_cast<double>(side), 1e-2) << side;
    }
  }
}

}  // namespace
}  // namespace trasmuon::test
