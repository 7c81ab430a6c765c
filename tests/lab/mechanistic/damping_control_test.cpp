// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/damping_control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "lab/study/placebo.h"
#include "lab/study/random.h"

namespace trasmuon::lab {
namespace {

constexpr int kDim = 10, kSteps = 24;
const TrasMuonOptions kOptions{.lr = 0.02, .weight_decay = 0, .trigger = 1, .rho = 0.3};

std::vector<double> gradient(int step) {
  Random random(static_cast<std::uint64_t>(step), 70);
  return gaussian_matrix(kDim, random);
}

using Damping = std::vector<std::vector<double>>;  // by step, from 0

/// c of TrasMuon itself on these gradients.
Damping own_damping(const Bursts* bursts) {
  std::vector<double> weight(kDim * kDim);
  BurstedOptimizer real(kOptions, weight, kDim, bursts);
  Damping all;
  for (int step = 1; step <= kSteps; ++step) {
    std::vector<double> g = gradient(step);
    real.step(step, g);
    all.emplace_back(real.damping().begin(), real.damping().end());
  }
  return all;
}

Damping controlled(DampingControl control, const Bursts* bursts, std::uint64_t seed = 1) {
  ControlledDamping damping(control, kOptions, kDim, bursts, seed);
  Damping all;
  for (int step = 1; step <= kSteps; ++step) {
    const std::vector<double> g = gradient(step);
    const auto c = damping.step(step, g);
    EXPECT_EQ(g, gradient(step));  // left for the other optimizer
    all.emplace_back(c.begin(), c.end());
  }
  return all;
}

class ControlledDampingTest : public testing::TestWithParam<bool> {
 protected:
  const Bursts bursts_{{.period = 3, .mixed = GetParam()}, kDim, kSteps, 1};
};
INSTANTIATE_TEST_SUITE_P(Basis, ControlledDampingTest, testing::Bool(),
                         [](const auto& suite) { return suite.param ? "mixed" : "kept"; });

TEST_P(ControlledDampingTest, MeanIsThatOfTrasMuonInAllColumns) {
  const Damping own = own_damping(&bursts_), mean = controlled(DampingControl::mean, &bursts_);
  for (std::size_t t = 0; t < own.size(); ++t) {
    const double expected = std::accumulate(own[t].begin(), own[t].end(), 0.0) / kDim;
    for (const double c : mean[t]) EXPECT_NEAR(c, expected, 1e-12) << t;
  }
  EXPECT_LT(mean[2][0], 1);  // the first burst
}

TEST_P(ControlledDampingTest, PermutedHasTheSameValuesInOtherColumns) {
  const Damping own = own_damping(&bursts_), permuted = controlled(DampingControl::permuted, &bursts_);
  const std::vector<int> columns = placebo_columns(kDim, 1);
  bool moved = false;
  for (std::size_t t = 0; t < own.size(); ++t) {
    for (int j = 0; j < kDim; ++j) EXPECT_EQ(permuted[t][j], own[t][columns[j]]) << t;
    moved = moved || permuted[t] != own[t];
    EXPECT_TRUE(std::is_permutation(own[t].begin(), own[t].end(), permuted[t].begin()));
  }
  EXPECT_TRUE(moved);
}

TEST_P(ControlledDampingTest, BlindNeverSeesABurst) {
  const Damping calm = own_damping(nullptr), blind = controlled(DampingControl::blind, &bursts_);
  EXPECT_EQ(blind, calm);
  EXPECT_NE(own_damping(&bursts_), calm);
}

TEST(PlaceboColumns, AreAPermutationThatMovesEveryColumn) {
  for (const int dim : {2, 3, 64}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      std::vector<int> columns = placebo_columns(dim, seed);
      for (int j = 0; j < dim; ++j) EXPECT_NE(columns[j], j);
      std::sort(columns.begin(), columns.end());
      for (int j = 0; j < dim; ++j) EXPECT_EQ(columns[j], j);
    }
  }
  EXPECT_EQ(placebo_columns(1, 3), std::vector<int>{0});
  EXPECT_NE(placebo_columns(64, 1), placebo_columns(64, 2));
}

TEST(DampingControl, IsFoundByTheNameOfTheSetting) {
  EXPECT_EQ(damping_control("columns"), DampingControl::none);
  EXPECT_EQ(damping_control("mean"), DampingControl::mean);
  EXPECT_EQ(damping_control("permuted"), DampingControl::permuted);
  EXPECT_EQ(damping_control("blind"), DampingControl::blind);
}

}  // namespace
}  // namespace trasmuon::lab
