// SPDX-License-Identifier: Apache-2.0
// The adapter adds nothing to what the core computes.
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>

#include "libtorch/net.h"

namespace trasmuon::libtorch {
namespace {

TensorView view_of(const torch::Tensor& tensor) {
  const std::string who = "tensor";
  return {tensor.data_ptr(), detail::dtype_of(tensor, who), detail::shape_of(tensor, who), 0};
}

TEST(Equality, EveryRuleIsTheCoreBitForBit) {
  for (const torch::ScalarType type : {torch::kFloat64, torch::kFloat32, torch::kBFloat16}) {
    for (const Options& rule : all_rules()) {
      SCOPED_TRACE(std::string(rule_name(rule)) + " " + detail::text_of(type));
      Net net(type);
      Optimizer optimizer(groups_for(net, rule), rule);
      const std::vector<torch::Tensor> weights{net.up, net.down, net.up_bias, net.gain, net.head};
      const std::vector<torch::Tensor> own = copies(weights);
      std::vector<Parameter> parameters;
      for (const torch::Tensor& tensor : own) {
        parameters.push_back({std::to_string(parameters.size()), view_of(tensor)});
      }
      trasmuon::Optimizer core(
          {{rule, {parameters[0], parameters[1]}}, {AdamWOptions{}, {parameters[2], parameters[3], parameters[4]}}});
      for (int step = 0; step < 20; ++step) {
        net.backward();
        std::vector<TensorView> gradients;
        for (const torch::Tensor& weight : weights) gradients.push_back(view_of(weight.grad()));
        core.step(gradients);
        optimizer.step();
        ASSERT_TRUE(same_bits(weights, own)) << "step " << step;
      }
      EXPECT_FALSE(same_bits(copies({net.up}), copies({Net(type).up}))) << "nothing was trained";
    }
  }
}

TEST(Equality, AdamWIsTorchsAdamW) {
  Net ours(torch::kFloat64), theirs(torch::kFloat64);
  AdamW optimizer(ours.parameters(), {.lr = 0.01, .weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.99, .eps = 1e-6});
  torch::optim::AdamW reference(
      theirs.parameters(),
      torch::optim::AdamWOptions(0.01).weight_decay(0.1).betas(std::make_tuple(0.8, 0.99)).eps(1e-6));
  for (int step = 0; step < 100; ++step) {
    ours.backward();
    theirs.backward();
    optimizer.step();
    reference.step();
  }
  for (std::size_t i = 0; i < ours.parameters().size(); ++i) {
    EXPECT_TRUE(ours.parameters()[i].allclose(theirs.parameters()[i], 1e-11, 1e-13)) << "parameter " << i;
  }
}

TEST(Equality, StateIsTheCoresMemory) {
  Net net;
  TrasMuon optimizer({net.up}, {});
  const auto& state = static_cast<const ParamState&>(*optimizer.state().at(state_key(net.up))).tensors;
  EXPECT_EQ(state.size(), optimizer.core().state(0).size());
  EXPECT_EQ(state.at("momentum").data_ptr(), optimizer.core().state(0, "momentum").data);
  EXPECT_EQ(state.at("momentum").sizes(), net.up.sizes());
  EXPECT_EQ(state.at("step").item<std::int64_t>(), 0);
  EXPECT_TRUE(state.at("c_ema").equal(torch::ones({1, 6})));
  net.backward();
  optimizer.step();
  EXPECT_EQ(state.at("step").item<std::int64_t>(), 1);
  EXPECT_GT(state.at("momentum").abs().max().item<double>(), 0);
}

}  // namespace
}  // namespace trasmuon::libtorch
