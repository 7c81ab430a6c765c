// SPDX-License-Identifier: Apache-2.0
#include "lab/training/gradient_bursts.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trasmuon::lab {
namespace {

TrainingSettings bursting() {
  return {.burst_period = 5, .burst_start = 10, .burst_columns = 2, .burst_size = 30, .burst_seed = 7};
}

TEST(GradientBursts, ComeEveryPeriodAfterTheStart) {
  const GradientBursts bursts(bursting());
  std::vector<int> steps;
  for (int step = 0; step < 26; ++step)
    if (bursts.at(step)) steps.push_back(step);
  EXPECT_EQ(steps, (std::vector<int>{10, 15, 20, 25}));
  EXPECT_FALSE(GradientBursts({}).at(0));
}

TEST(GradientBursts, AddAVectorOfTheGivenNormToTheirColumns) {
  const at::Tensor before = at::randn({12, 9}), gradient = before.clone();
  const BurstSeen seen = GradientBursts(bursting()).apply(10, {gradient});
  const double alpha = 30 * before.norm().item<double>() / std::sqrt(12.0 * 9);
  const at::Tensor norms = (gradient - before).norm(2, 0);
  ASSERT_EQ(seen.columns.size(), 1u);
  ASSERT_EQ(seen.columns[0].size(), 2u);
  EXPECT_NE(seen.columns[0][0], seen.columns[0][1]);
  for (int j = 0; j < 9; ++j) {
    const bool hit = std::count(seen.columns[0].begin(), seen.columns[0].end(), j) > 0;
    EXPECT_NEAR(norms[j].item<double>(), hit ? alpha : 0, 1e-4 * alpha) << j;
  }
  EXPECT_NEAR(seen.size, alpha, 1e-6 * alpha);
  EXPECT_NEAR(seen.share, std::sqrt(2.0) * alpha / before.norm().item<double>(), 1e-4);
}

TEST(GradientBursts, CanBeAbsoluteAndCapped) {
  TrainingSettings settings = bursting();
  settings.burst_relative = false;
  EXPECT_EQ(GradientBursts(settings).apply(10, {at::ones({4, 4})}).size, 30);
  settings.burst_relative = true;
  settings.burst_cap = 0.5;
  EXPECT_EQ(GradientBursts(settings).apply(10, {at::ones({4, 4})}).size, 0.5);
}

TEST(GradientBursts, AreTheSameWhateverTheGradientAndTheOtherMatrices) {
  const GradientBursts bursts(bursting());
  const at::Tensor small = at::zeros({6, 20}), large = at::zeros({6, 20}), other = at::zeros({8, 8});
  small[0][0] = 1e-3;
  large[0][0] = 1e3;
  const BurstSeen a = bursts.apply(15, {small, other}), b = bursts.apply(15, {large});
  EXPECT_EQ(a.columns[0], b.columns[0]);
  small[0][0] -= 1e-3;
  large[0][0] -= 1e3;
  EXPECT_TRUE(at::allclose(small * 1e6, large, 1e-3, 1e-1));
  EXPECT_NE(bursts.apply(20, {large}).columns[0], a.columns[0]);
}

TEST(GradientBursts, HitAllColumnsOfANarrowMatrix) {
  TrainingSettings settings = bursting();
  settings.burst_columns = 50;
  EXPECT_EQ(GradientBursts(settings).apply(10, {at::ones({4, 3})}).columns[0].size(), 3u);
}

}  // namespace
}  // namespace trasmuon::lab
