// SPDX-License-Identifier: Apache-2.0
#include "lab/training/training.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tiny_task.h"

namespace trasmuon::lab {
namespace {

TaskFactory factory(int micro_batch, double dropout = 0) {
  return [=] { return tiny_task(3, micro_batch, dropout); };
}

at::Tensor weights_after(const TrainingSettings& settings, const Options& method, int steps, std::uint64_t seed = 1) {
  Training training(factory(micro_batch_size(settings)), settings, method, seed);
  for (int step = 0; step < steps; ++step) training.step(step, step % 2 == 0);
  return training.matrices()[0].detach().clone();
}

TEST(Training, LearnsUnderEveryRule) {
  const TrainingSettings settings{.steps = 60, .batch = 64};
  for (const Options& method : {Options(TrasMuonOptions{.lr = 0.02}), Options(NorMuonOptions{.lr = 0.1}),
                                Options(MuonOptions{}), Options(DionOptions{}), Options(AdamWOptions{.lr = 0.01})}) {
    Training training(factory(64), settings, method, 1);
    const double before = training.evaluate().at(0).second;
    for (int step = 0; step < settings.steps; ++step) training.step(step, false);
    EXPECT_LT(training.evaluate().at(0).second, 0.7 * before) << rule_name(method);
  }
}

TEST(Training, AccumulatesMicroBatchesToTheGradientOfTheBatch) {
  const at::Tensor whole = weights_after({.steps = 10, .batch = 64}, AdamWOptions{}, 5);
  const at::Tensor parts = weights_after({.steps = 10, .batch = 64, .micro_batch = 16}, AdamWOptions{}, 5);
  EXPECT_TRUE(at::allclose(whole, parts, 1e-4, 1e-5));
}

TEST(Training, FollowsItsSchedule) {
  // A linear rule: with plain AdamW and no momentum, the first step's size is lr times the factor.
  const AdamWOptions method{.lr = 0.01, .weight_decay = 0, .beta1 = 0, .beta2 = 0};
  const auto first_change = [&](double warmup) {
    Training training(factory(64), {.steps = 10, .batch = 64, .warmup_share = warmup}, method, 1);
    const at::Tensor before = training.matrices()[0].detach().clone();
    EXPECT_EQ(training.step(0, false).lr_factor, warmup == 0 ? 1 : 0.2);
    return (training.matrices()[0].detach() - before).abs().max().item<double>();
  };
  EXPECT_NEAR(first_change(0), 0.01, 1e-4);
  EXPECT_NEAR(first_change(0.5), 0.002, 1e-5);
}

TEST(Training, DependsOnTheSeedAlone) {
  const TrainingSettings settings{.steps = 10, .batch = 32};
  EXPECT_TRUE(at::equal(weights_after(settings, MuonOptions{}, 4), weights_after(settings, MuonOptions{}, 4)));
  EXPECT_FALSE(at::equal(weights_after(settings, MuonOptions{}, 4), weights_after(settings, MuonOptions{}, 4, 2)));
}

TEST(Training, DoesNotChangeWithEvaluations) {
  const TrainingSettings settings{.steps = 10, .batch = 32};
  std::vector<at::Tensor> ends;
  for (const bool evaluates : {false, true}) {
    Training training(factory(32, 0.5), settings, MuonOptions{}, 1);
    for (int step = 0; step < 5; ++step) {
      training.step(step, false);
      if (evaluates) training.evaluate();
    }
    ends.push_back(training.matrices()[0].detach().clone());
  }
  EXPECT_TRUE(at::equal(ends[0], ends[1]));
}

TEST(Training, TakesNoStepWithALossThatIsNoNumber) {
  Training training([] { return tiny_task(3, 16, 0, 2); }, {.steps = 10, .batch = 16}, MuonOptions{}, 1);
  training.step(0, false);
  training.step(1, false);
  const at::Tensor before = training.matrices()[0].detach().clone();
  EXPECT_TRUE(std::isnan(training.step(2, false).loss));
  EXPECT_TRUE(at::equal(training.matrices()[0], before));
}

TEST(Training, ComputesInBf16WithinItsPrecision) {
  TrainingSettings settings{.steps = 20, .batch = 64, .precision = "bf16"};
  Training mixed(factory(64), settings, MuonOptions{}, 1);
  settings.precision = "f32";
  Training full(factory(64), settings, MuonOptions{}, 1);
  const double a = mixed.step(0, false).loss, b = full.step(0, false).loss;
  EXPECT_NE(a, b);
  EXPECT_NEAR(a, b, 0.02 * b);
  EXPECT_EQ(mixed.matrices()[0].scalar_type(), at::kFloat);
  EXPECT_EQ(mixed.matrices()[0].grad().scalar_type(), at::kFloat);
}

}  // namespace
}  // namespace trasmuon::lab
