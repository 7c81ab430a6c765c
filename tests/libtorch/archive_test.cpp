// SPDX-License-Identifier: Apache-2.0
// torch::save and torch::load.
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>
#include <torch/serialize.h>

#include <sstream>

#include "libtorch/net.h"
#include "support/error_of.h"

namespace trasmuon::libtorch {
namespace {

using test::error_of;

std::string saved(const torch::optim::Optimizer& optimizer) {
  std::ostringstream stream;
  torch::save(optimizer, stream);
  return stream.str();
}

void load(torch::optim::Optimizer& optimizer, const std::string& bytes) {
  std::istringstream stream(bytes);
  torch::load(optimizer, stream);
}

void train(Net& net, torch::optim::Optimizer& optimizer, int steps) {
  for (int step = 0; step < steps; ++step) {
    net.backward();
    optimizer.step();
  }
}

TEST(Archive, AResumedRunContinuesBitForBit) {
  for (const bool weights_first : {true, false}) {
    for (const torch::ScalarType type : {torch::kFloat32, torch::kBFloat16}) {
      for (const Options& rule : all_rules()) {
        SCOPED_TRACE(std::string(rule_name(rule)) + " " + detail::text_of(type));
        const OptimizerOptions settings{.master_weights = type == torch::kBFloat16};
        auto net = std::make_shared<Net>(type), resumed = std::make_shared<Net>(type, /*seed=*/2);
        Optimizer optimizer(groups_for(*net, rule), rule, settings);
        train(*net, optimizer, 7);
        optimizer.param_groups()[0].options().set_lr(0.003);
        const std::string bytes = saved(optimizer);
        std::stringstream weights;
        torch::save(net, weights);

        Optimizer other(groups_for(*resumed, rule), rule, settings);
        train(*resumed, other, 2);
        if (weights_first) torch::load(resumed, weights);
        load(other, bytes);
        if (!weights_first) torch::load(resumed, weights);
        EXPECT_EQ(other.param_groups()[0].options().get_lr(), 0.003);
        train(*net, optimizer, 5);
        train(*resumed, other, 5);
        EXPECT_TRUE(same_bits(net->parameters(), resumed->parameters()));
      }
    }
  }
}

TEST(Archive, EveryOptionIsRestored) {
  Net net, other;
  TrasMuonOptions options{.lr = 0.1 + 0.2, .eps = 1e-9, .nesterov = false, .ns_steps = 7, .clip = Clip::hard};
  options.coefficients = "polar_express";
  options.gamma = 1.0 / 3;
  TrasMuon optimizer({net.up}, options), loaded({other.up}, {});
  load(loaded, saved(optimizer));
  EXPECT_EQ(describe(loaded.options()), describe(Options(options)));
  EXPECT_EQ(std::get<TrasMuonOptions>(loaded.options()).gamma, 1.0 / 3);
  EXPECT_EQ(describe(loaded.core().options(0)), describe(Options(options)));
}

TEST(Archive, AGroupAddedThroughTheBaseClassIsSaved) {
  Net net, other;
  Muon optimizer({net.up}, {}), loaded({other.up}, {});
  static_cast<torch::optim::Optimizer&>(optimizer).add_param_group(OptimizerParamGroup({net.down}));
  EXPECT_EQ(error_of([&] { load(loaded, saved(optimizer)); }), "load: archive must have 1 groups, got 2");
  loaded.add_param_group(OptimizerParamGroup({other.down}));
  load(loaded, saved(optimizer));
}

TEST(Archive, WhatDoesNotFitIsRefusedAndChangesNothing) {
  Net net;
  TrasMuon optimizer({net.up, net.down}, {.lr = 0.1});
  train(net, optimizer, 3);
  const auto momentum = [&] {
    return static_cast<const ParamState&>(*optimizer.state().at(state_key(net.up))).tensors.at("momentum");
  };
  const torch::Tensor before = momentum().clone();
  const auto text = [&](const torch::optim::Optimizer& other) {
    const std::string refused = error_of([&] { load(optimizer, saved(other)); });
    EXPECT_EQ(std::get<TrasMuonOptions>(optimizer.options()).lr, 0.1);
    return refused;
  };
  Net other;
  EXPECT_EQ(text(Muon({other.up, other.down}, {})), "load: group 0: rule must be trasmuon, got muon");
  EXPECT_EQ(text(TrasMuon({other.up}, {})), "load: group 0: must have 2 parameters, got 1");
  EXPECT_EQ(text(TrasMuon({other.up, other.up.detach().t().contiguous()}, {})),
            "load: parameter 'group0.1': state 'momentum' must be Float [9, 12], got Float [6, 12]");
  EXPECT_EQ(text(TrasMuon(other, {}, {})), "load: archive must have 1 groups, got 2");
  OptimizerParamGroup named = group({other.up, other.down}, TrasMuonOptions{});
  options_of(named).parameters = {{.name = "up", .weight = {}}};
  EXPECT_EQ(text(TrasMuon(std::vector{named})), "load: parameter must be 'group0.0', got 'up'");
  options_of(named).parameters = {{.name = "group0.0", .weight = {}, .row_blocks = {4, 8}}};
  EXPECT_EQ(text(TrasMuon(std::vector{named})),
            "load: parameter 'group0.0': layout must be automatic, got automatic 4 8");
  EXPECT_EQ(text(torch::optim::AdamW(other.parameters())),
            "load: archive has no 'format'; it was not written by trasmuon::libtorch");
  EXPECT_TRUE(momentum().equal(before));
  Net half(torch::kBFloat16);
  AdamW with({half.up}, {}, {.master_weights = true}), without({half.up}, {});
  EXPECT_EQ(error_of([&] { load(without, saved(with)); }),
            "load: parameter 'group0.0': this optimizer has no state 'master'");
  EXPECT_EQ(error_of([&] { load(with, saved(without)); }), "load: parameter 'group0.0': state 'master' is missing");
}

TEST(Archive, DionsRankMustFit) {
  Net net;
  Dion full({net.up}, {.lr = 0.5}), half({net.up}, {.rank_fraction = 0.5});
  EXPECT_EQ(error_of([&] { load(full, saved(half)); }),
            "load: parameter 'group0.0': state 'basis' must be Float [36], got Float [18]");
  EXPECT_EQ(std::get<DionOptions>(full.options()).lr, 0.5);
}

}  // namespace
}  // namespace trasmuon::libtorch
