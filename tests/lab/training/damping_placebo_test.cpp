// SPDX-License-Identifier: Apache-2.0
#include "lab/training/damping_placebo.h"

#include <gtest/gtest.h>
#include <trasmuon/libtorch.h>

#include "lab/study/placebo.h"

namespace trasmuon::lab {
namespace {

constexpr double kLr = 0.1, kDecay = 0.5;

/// Changes of a 16 x 12 matrix in one damped step, without weight decay's part: column 3 has a burst.
struct Step {
  explicit Step(DampingPlacebo::Kind kind) {
    torch::manual_seed(5);
    const at::Tensor weight = at::randn({16, 12}).set_requires_grad(true), before = weight.detach().clone();
    libtorch::TrasMuon optimizer({weight}, {.lr = kLr, .weight_decay = kDecay, .gate_first_step = true});
    at::Tensor gradient = at::randn({16, 12});
    gradient.select(1, 3) *= 100;
    weight.mutable_grad() = gradient;
    DampingPlacebo placebo(kind, {weight}, 9);
    placebo.before_step();
    optimizer.step();
    c = damping_of(optimizer, weight);
    placebo.after_step(optimizer, 1 - kLr * kDecay);
    change = weight.detach() - (1 - kLr * kDecay) * before;
  }
  at::Tensor c, change;
};

TEST(DampingPlacebo, NoneLeavesTheStepAsItIs) {
  const Step plain(DampingPlacebo::Kind::none);
  EXPECT_LT(plain.c[3].item<double>(), 0.9);
  EXPECT_EQ(plain.c[0].item<double>(), 1);
}

TEST(DampingPlacebo, GivesTheDampingToOtherColumns) {
  const Step plain(DampingPlacebo::Kind::none), placebo(DampingPlacebo::Kind::permuted);
  const std::vector<int> columns = placebo_columns(12, 9);
  const at::Tensor undamped = plain.change / plain.c;
  for (int j = 0; j < 12; ++j) {
    EXPECT_TRUE(at::allclose(placebo.change.select(1, j), undamped.select(1, j) * plain.c[columns[j]], 1e-4, 1e-6))
        << j;
  }
  EXPECT_GT(placebo.change.select(1, 3).norm().item<double>(), plain.change.select(1, 3).norm().item<double>());
}

TEST(DampingPlacebo, MeanShrinksAllColumnsAlike) {
  const Step plain(DampingPlacebo::Kind::none), mean(DampingPlacebo::Kind::mean);
  EXPECT_TRUE(at::allclose(mean.change, plain.change / plain.c * plain.c.mean(), 1e-4, 1e-6));
}

TEST(DampingPlacebo, OtherRulesHaveNoDamping) {
  const at::Tensor weight = at::randn({8, 8}).set_requires_grad(true);
  libtorch::Muon optimizer(std::vector<at::Tensor>{weight});
  EXPECT_FALSE(damping_of(optimizer, weight).defined());
}

}  // namespace
}  // namespace trasmuon::lab
