// SPDX-License-Identifier: Apache-2.0
// What is refused, with which text, and that a refused call changes nothing.
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>

#include "libtorch/net.h"
#include "support/error_of.h"

namespace trasmuon::libtorch {
namespace {

using test::error_of;

torch::Tensor parameter(at::IntArrayRef sizes, torch::ScalarType type = torch::kFloat32) {
  return torch::ones(sizes, type).requires_grad_();
}

TEST(Errors, VectorsUnderAMatrixRuleAreRefusedWithTheRemedy) {
  Net net;
  EXPECT_EQ(error_of([&] { TrasMuon optimizer(net.parameters()); }),
            "parameter 'group0.1': trasmuon needs at least two dimensions, got shape [12]; build the optimizer from "
            "the module, which gives such parameters to AdamW, or put them into a group of their own with "
            "AdamWOptions");
}

TEST(Errors, ParametersOfTheWrongKind) {
  const auto text = [](const torch::Tensor& tensor) { return error_of([&] { AdamW optimizer({tensor}, {}); }); };
  EXPECT_EQ(text(torch::ones({2, 3}, torch::kInt64)),
            "parameter 'group0.0': dtype must be Double, Float, BFloat16 or Half, got Long");
  EXPECT_EQ(text(parameter({2, 3}, torch::kComplexFloat)),
            "parameter 'group0.0': dtype must be Double, Float, BFloat16 or Half, got ComplexFloat");
  EXPECT_EQ(text(torch::ones({2, 3}).to_sparse()), "parameter 'group0.0': must be dense, got layout Sparse");
  EXPECT_EQ(text(torch::empty({2, 3}, torch::kMeta)), "parameter 'group0.0': must be on cpu or cuda, got device meta");
  EXPECT_EQ(text(torch::ones({4, 3}).t().requires_grad_()),
            "parameter 'group0.0': must be contiguous, or a matrix with contiguous rows, got strides [1, 3] for shape "
            "[3, 4]");
  EXPECT_EQ(text(parameter({1, 1, 1, 1, 1, 2})),
            "parameter 'group0.0': must have at most 5 dimensions, got shape [1, 1, 1, 1, 1, 2]");
  EXPECT_EQ(text(parameter({0, 3})), "parameter 'group0.0': must not be empty, got shape [0, 3]");
}

TEST(Errors, GroupsAndSettings) {
  Net net;
  EXPECT_EQ(error_of([&] { TrasMuon optimizer(std::vector<torch::Tensor>{}); }),
            "group 0 (trasmuon): has no parameters");
  EXPECT_EQ(error_of([&] {
              TrasMuon optimizer({net.up, net.up}, {});
            }),
            "parameter 'group0.1': shares memory with 'group0.0'");
  const std::vector<OptimizerParamGroup> foreign{
      OptimizerParamGroup({net.up}, std::make_unique<torch::optim::AdamWOptions>())};
  EXPECT_EQ(error_of([&] { TrasMuon optimizer(foreign); }),
            "group options must be trasmuon::libtorch::GroupOptions, got another optimizer's");
  EXPECT_EQ(error_of([&] { TrasMuon optimizer(net, {.alpha = -1}); }), "trasmuon: alpha must be > 0, got -1");
  EXPECT_EQ(error_of([&] { TrasMuon optimizer(net, {}, {}, {.state = [](auto, auto&) { return nullptr; }}); }),
            "optimizer: state must be unset, torch tensors hold it");
  OptimizerParamGroup named = group({net.up}, MuonOptions{});
  options_of(named).parameters.resize(2);
  EXPECT_EQ(error_of([&] { Muon optimizer(std::vector{named}); }), "group 0: names 2 parameters, but has 1 tensors");
}

TEST(Errors, AStepThatIsRefusedChangesNothing) {
  Net net;
  TrasMuon optimizer(net);
  const auto before = copies(net.parameters());
  const auto text = [&] { return error_of([&] { optimizer.step(); }); };
  net.backward();
  net.gain.mutable_grad() = torch::Tensor();
  net.head.mutable_grad() = net.head.grad().to_sparse();
  EXPECT_EQ(text(), "gradient of 'head': must be dense, got layout Sparse");
  net.head.mutable_grad() = torch::empty({1, 9}, torch::kMeta);
  EXPECT_EQ(text(), "gradient of 'head': must be on cpu, as the weight, got device meta");
  net.backward();
  optimizer.options(1) = AdamWOptions{.eps = -1};
  EXPECT_EQ(text(), "adamw: eps must be >= 1e-30, got -1");
  optimizer.options(1) = MuonOptions{};
  EXPECT_EQ(text(), "group 1: rule must stay adamw, got muon");
  optimizer.options(1) = AdamWOptions{};
  optimizer.param_groups()[0].options().set_lr(-0.5);
  EXPECT_EQ(text(), "trasmuon: lr must be in [0, 1e+20], got -0.5");
  optimizer.param_groups()[0].options().set_lr(0.5);
  net.up.set_data(net.up.to(torch::kFloat64));
  EXPECT_EQ(text(),
            "parameter 'up_weight': must stay f32 [12, 6], got f64 [12, 6]; build the optimizer after changing "
            "the model");
  net.up.set_data(before[0].clone());
  EXPECT_TRUE(same_bits(net.parameters(), before));
  optimizer.step();
  EXPECT_FALSE(same_bits(net.parameters(), before));
}

}  // namespace
}  // namespace trasmuon::libtorch
