// SPDX-License-Identifier: Apache-2.0
// What a training loop of LibTorch relies on.
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>
#include <torch/optim/schedulers/step_lr.h>
#if __has_include(<torch/optim/schedulers/reduce_on_plateau_scheduler.h>)  // from 2.0 on
#include <torch/optim/schedulers/reduce_on_plateau_scheduler.h>
#endif

#include "libtorch/net.h"

namespace trasmuon::libtorch {
namespace {

TEST(Training, EveryRuleLearns) {
  for (const Options& rule : all_rules()) {
    Net net;
    Optimizer optimizer(groups_for(net, rule, {.lr = 0.02}), rule);
    const double before = net.loss().item<double>();
    for (int step = 0; step < 150; ++step) {
      optimizer.zero_grad();
      net.loss().backward();
      optimizer.step();
    }
    EXPECT_LT(net.loss().item<double>(), 0.1 * before) << rule_name(rule);
  }
}

TEST(Training, AClosureIsRunOnceWithGradientsOnAndItsLossReturned) {
  Net net;
  TrasMuon optimizer(net);
  int calls = 0;
  torch::NoGradGuard no_grad;  // as LibTorch's optimizers, step() enables gradients for the closure itself
  const torch::Tensor before = net.up.clone();
  const torch::Tensor loss = optimizer.step([&] {
    ++calls;
    EXPECT_TRUE(torch::GradMode::is_enabled());
    optimizer.zero_grad();
    torch::Tensor value = net.loss();
    value.backward();
    return value;
  });
  EXPECT_EQ(calls, 1);
  EXPECT_GT(loss.item<double>(), 0);
  EXPECT_FALSE(net.up.equal(before));
  EXPECT_FALSE(optimizer.step().defined());
}

TEST(Training, SchedulersSetTheRateOfEveryGroup) {
  Net net, other;
  TrasMuon optimizer(net, {.lr = 0.5}, {.lr = 0.25});
  torch::optim::AdamW reference(other.parameters(), torch::optim::AdamWOptions(0.5));
  torch::optim::StepLR scheduler(optimizer, /*step_size=*/2, /*gamma=*/0.5);
  torch::optim::StepLR reference_scheduler(reference, 2, 0.5);
  for (int epoch = 0; epoch < 5; ++epoch) {
    net.backward();
    optimizer.step();
    scheduler.step();
    reference_scheduler.step();
  }
  const double lr = reference.param_groups()[0].options().get_lr();
  EXPECT_LT(lr, 0.5);
  EXPECT_EQ(optimizer.param_groups()[0].options().get_lr(), lr);
  EXPECT_EQ(std::get<AdamWOptions>(optimizer.options(1)).lr, lr / 2);
  net.backward();
  optimizer.step();
  EXPECT_EQ(std::get<TrasMuonOptions>(optimizer.core().options(0)).lr, lr);
}

#if __has_include(<torch/optim/schedulers/reduce_on_plateau_scheduler.h>)
TEST(Training, ReduceLROnPlateauSetsTheRate) {
  Net net;
  TrasMuon optimizer(net, {.lr = 0.5}, {.lr = 0.25});
  torch::optim::ReduceLROnPlateauScheduler scheduler(
      optimizer, torch::optim::ReduceLROnPlateauScheduler::SchedulerMode::min, /*factor=*/0.5, /*patience=*/0);
  for (int epoch = 0; epoch < 2; ++epoch) scheduler.step(1.0f);
  EXPECT_EQ(std::get<TrasMuonOptions>(optimizer.options(0)).lr, 0.25);
  EXPECT_EQ(std::get<AdamWOptions>(optimizer.options(1)).lr, 0.125);
}
#endif

TEST(Training, OptionsOfAGroupCountFromTheNextStep) {
  Net net;
  Muon optimizer({net.up, net.down}, {.lr = 0.1});
  net.backward();
  optimizer.step();
  auto& options = static_cast<GroupOptions&>(optimizer.param_groups()[0].options());
  std::get<MuonOptions>(options.rule).lr = 0;
  const auto before = copies(net.parameters());
  net.backward();
  optimizer.step();
  EXPECT_TRUE(same_bits(net.parameters(), before));
}

TEST(Training, RefreshingCapturedStepsTakesTheOptionsAndStepsNothing) {
  Net net;
  TrasMuon optimizer(net, {.lr = 0.5});
  net.backward();
  optimizer.step();
  const torch::Tensor before = net.up.clone();
  optimizer.param_groups()[0].options().set_lr(0.25);
  optimizer.refresh_recorded();
  EXPECT_EQ(std::get<TrasMuonOptions>(optimizer.core().options(0)).lr, 0.25);
  EXPECT_TRUE(net.up.equal(before));
  net.up.set_data(net.up.detach().clone());
  EXPECT_THROW(optimizer.refresh_recorded(), Error) << "the weight has other memory";
}

TEST(Training, ZeroGradAndParametersWithoutGradient) {
  Net net;
  TrasMuon optimizer(net);
  net.backward();
  net.down.mutable_grad() = torch::Tensor();
  const auto before = copies(net.parameters());
  optimizer.step();
  EXPECT_FALSE(net.up.equal(before[0]));
  EXPECT_TRUE(net.down.equal(before[2]));
  EXPECT_EQ(*static_cast<std::int64_t*>(optimizer.core().state(1, "step").data), 0);
  optimizer.zero_grad();
  EXPECT_TRUE(!net.up.grad().defined() || net.up.grad().abs().max().item<double>() == 0);
}

TEST(Training, DiagnosticsAndWarningsAreTheCores) {
  Net net;
  TrasMuon optimizer(net, {.lr = 0.03, .clip = Clip::none}, {}, {.diagnostics = true});
  net.backward();
  optimizer.step();
  const trasmuon::Optimizer& core = optimizer.core();
  EXPECT_NEAR(core.diagnostics(core.index_of("down_weight"))[0].update_rms, 0.2 * 0.03, 1e-6);
  EXPECT_EQ(core.warnings(), warnings(optimizer.options(0)));
}

TEST(Training, AnOptimizerMayBeMoved) {
  Net net, other;
  Optimizer optimizer(groups_for(net, TrasMuonOptions{})), reference(groups_for(other, TrasMuonOptions{}));
  net.backward();
  optimizer.step();
  Optimizer moved(std::move(optimizer));
  net.backward();
  moved.step();
  for (int i = 0; i < 2; ++i) {
    other.backward();
    reference.step();
  }
  EXPECT_TRUE(same_bits(net.parameters(), other.parameters()));
}

TEST(Training, AStepIsSeenByAutograd) {
  Net net;
  TrasMuon optimizer(net);
  net.backward();
  const torch::Tensor stale = net.loss();
  const auto version = net.down._version();
  optimizer.step();
  EXPECT_EQ(net.down._version(), version + 1);
  try {
    stale.backward();
    FAIL() << "backward through weights that were stepped";
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("modified by an inplace operation"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace trasmuon::libtorch
