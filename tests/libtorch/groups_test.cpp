// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "libtorch/net.h"
#include "support/error_of.h"

namespace trasmuon::libtorch {
namespace {

using test::error_of;

std::vector<std::string> names_of(const trasmuon::Optimizer& core, std::size_t group) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < core.parameter_count(); ++i) {
    if (core.group_of(i) == group) names.push_back(core.parameter(i).name);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(Groups, AModuleIsSplitByTheClassifier) {
  Net net;
  TrasMuon optimizer(net, {.lr = 0.5}, {.lr = 0.25});
  EXPECT_EQ(names_of(optimizer.core(), 0), (Names{"up_weight", "down_weight"}));
  EXPECT_EQ(names_of(optimizer.core(), 1), (Names{"up_bias", "gain", "head"}));
  EXPECT_EQ(std::get<TrasMuonOptions>(optimizer.core().options(0)).lr, 0.5);
  EXPECT_EQ(std::get<AdamWOptions>(optimizer.core().options(1)).lr, 0.25);
}

TEST(Groups, OverridesReachTheClassifier) {
  Net net;
  const FamilyOverride overrides[] = {{"down_*", Family::adamw}};
  Muon optimizer(groups_for(net, MuonOptions{}, {}, overrides));
  EXPECT_EQ(names_of(optimizer.core(), 0), (Names{"up_weight"}));
}

TEST(Groups, AdamWTakesAWholeModule) {
  Net net;
  AdamW optimizer(net, {.lr = 0.5});
  EXPECT_EQ(names_of(optimizer.core(), 0), (Names{"up_weight", "up_bias", "down_weight", "gain", "head"}));
}

TEST(Groups, OnlyMatricesMakeOneGroup) {
  struct Matrices : torch::nn::Module {
    Matrices() { register_parameter("a", torch::ones({3, 4})); }
  } module;
  EXPECT_EQ(groups_for(module, MuonOptions{}).size(), 1u);
}

TEST(Groups, TiedWeightsAreTrainedOnce) {
  struct Tied : torch::nn::Module {
    Tied() {
      const torch::Tensor shared = register_parameter("a", torch::ones({3, 4}));
      register_parameter("b", shared);
    }
  } module;
  Muon optimizer(module);
  EXPECT_EQ(names_of(optimizer.core(), 0), (Names{"a"}));
}

TEST(Groups, LayoutsAreReadWhenTheOptimizerIsBuilt) {
  Net net;
  auto groups = groups_for(net, TrasMuonOptions{});
  parameter_of(groups, "up_weight").row_blocks = equal_blocks(12, 3);
  parameter_of(groups, "down_weight").transposed = true;
  TrasMuon optimizer(groups);
  EXPECT_EQ(optimizer.core().state(0, "step").shape, Shape({3}));
  EXPECT_EQ(optimizer.core().state(1, "c_ema").shape, Shape({1, 9}));
  EXPECT_EQ(error_of([&] { parameter_of(groups, "sideways"); }), "no parameter named 'sideways'");
}

TEST(Groups, RulesMixInOneOptimizer) {
  Net net;
  Dion optimizer({group({net.up}, MuonOptions{.lr = 0.5}), OptimizerParamGroup({net.down}),
                  group({net.up_bias, net.gain, net.head}, AdamWOptions{})},
                 {.lr = 0.25});
  EXPECT_EQ(std::string(rule_name(optimizer.core().options(0))), "muon");
  EXPECT_EQ(std::get<DionOptions>(optimizer.core().options(1)).lr, 0.25);
  EXPECT_EQ(names_of(optimizer.core(), 2), (Names{"group2.0", "group2.1", "group2.2"}));
  EXPECT_EQ(optimizer.param_groups().size(), 3u);
}

/// Adds net.down and the rest after two steps, through `add`, and expects each parameter to
/// go on as if it had been trained by an optimizer of its own.
template <class Add>
void expect_others_go_on(Add&& add) {
  Net net, reference;
  Muon optimizer({net.up}, {.lr = 0.1}), alone({reference.up}, {.lr = 0.1}), added({reference.down}, {.lr = 0.1});
  const auto step_all = [&](bool with_added) {
    net.backward();
    reference.backward();
    optimizer.step();
    alone.step();
    if (with_added) added.step();
  };
  for (int i = 0; i < 2; ++i) step_all(false);
  add(optimizer, net);
  for (int i = 0; i < 3; ++i) step_all(true);
  EXPECT_TRUE(same_bits(net.parameters(), reference.parameters()));
  EXPECT_EQ(*static_cast<std::int64_t*>(optimizer.core().state(0, "step").data), 5);
}

TEST(Groups, AnAddedGroupLeavesTheStateOfOthers) {
  expect_others_go_on([](Muon& optimizer, Net& net) { optimizer.add_param_group(OptimizerParamGroup({net.down})); });
}

TEST(Groups, AGroupMayBeAddedThroughTheBaseClass) {
  expect_others_go_on([](torch::optim::Optimizer& optimizer, Net& net) {
    optimizer.add_param_group(group({net.down}, MuonOptions{.lr = 0.1}));
  });
}

TEST(Groups, TensorsMayBeAddedToAGroup) {
  expect_others_go_on([](Muon& optimizer, Net& net) { optimizer.param_groups()[0].params().push_back(net.down); });
}

TEST(Groups, ARefusedGroupIsNotAdded) {
  Net net;
  Muon optimizer({net.up}, {.lr = 0.1});
  EXPECT_NE(error_of([&] { optimizer.add_param_group(OptimizerParamGroup({net.up_bias})); }).find("'group1.0'"),
            std::string::npos);
  EXPECT_EQ(optimizer.param_groups().size(), 1u);
  EXPECT_THROW(optimizer.add_param_group(OptimizerParamGroup({net.up})), c10::Error);  // torch: in more than one group
  EXPECT_EQ(optimizer.param_groups().size(), 1u);
  net.backward();
  optimizer.step();
}

}  // namespace
}  // namespace trasmuon::libtorch
