// SPDX-License-Identifier: Apache-2.0
// Weights and gradients as torch hands them over: strides, other memory, 16 bits.
#include <gtest/gtest.h>
#include <torch/serialize.h>

#include <sstream>

#include "libtorch/net.h"

namespace trasmuon::libtorch {
namespace {

/// Ten steps of `weight` under fixed gradients; what `prepare` does to them must not matter.
template <class Prepare>
torch::Tensor trained(torch::Tensor weight, Prepare&& prepare) {
  weight.requires_grad_();
  TrasMuon optimizer({weight}, {.lr = 0.1});
  torch::manual_seed(3);
  for (int step = 0; step < 10; ++step) {
    weight.mutable_grad() = prepare(weight, torch::randn({9, 7}));
    optimizer.step();
  }
  return weight.detach().clone();
}

torch::Tensor start() { return torch::linspace(-1, 1, 9 * 7).reshape({9, 7}); }
const auto kKeep = [](torch::Tensor&, const torch::Tensor& gradient) { return gradient; };

TEST(Weights, GradientsOfAnyStride) {
  const torch::Tensor expected = trained(start(), kKeep);
  EXPECT_TRUE(trained(start(), [](auto&, const auto& g) { return g.t().contiguous().t(); }).equal(expected));
  EXPECT_TRUE(trained(start(), [](auto&, const auto& g) { return torch::_neg_view(-g); }).equal(expected));
  const auto expanded = [](auto&, const auto& g) { return g.slice(1, 0, 1).expand({9, 7}); };
  const auto copied = [](auto&, const auto& g) { return g.slice(1, 0, 1).expand({9, 7}).contiguous(); };
  EXPECT_TRUE(trained(start(), expanded).equal(trained(start(), copied)));
}

TEST(Weights, RowsMayLieApart) {
  torch::Tensor wide = torch::zeros({9, 20});
  torch::Tensor weight = wide.slice(1, 3, 10);
  weight.copy_(start());
  EXPECT_TRUE(trained(weight, kKeep).equal(trained(start(), kKeep)));
  EXPECT_EQ(wide.slice(1, 10, 20).abs().max().item<float>(), 0);
}

TEST(Weights, OtherMemoryBetweenSteps) {
  const auto move = [](torch::Tensor& weight, const torch::Tensor& gradient) {
    torch::Tensor old = weight.detach();
    weight.set_data(weight.detach().clone());
    old.fill_(NAN);
    return gradient;
  };
  EXPECT_TRUE(trained(start(), move).equal(trained(start(), kKeep)));
}

TEST(Weights, TwoParametersMaySwapTheirMemory) {
  torch::Tensor a = start().requires_grad_(), b = (2 * start()).requires_grad_();
  Muon optimizer({a, b}, {});
  const torch::Tensor a_memory = a.detach(), b_memory = b.detach();
  a.set_data(b_memory);
  b.set_data(a_memory);
  a.mutable_grad() = torch::ones({9, 7});
  optimizer.step();
  EXPECT_TRUE(b.detach().equal(start()));
  EXPECT_FALSE(a.detach().equal(2 * start()));
  EXPECT_EQ(optimizer.core().parameter(0).weight.data, a.data_ptr());
}

struct HalfModel : torch::nn::Module {
  HalfModel() { weight = register_parameter("weight", start().to(torch::kBFloat16)); }
  torch::Tensor weight;
};

torch::Tensor master_of(AdamW& optimizer, const torch::Tensor& weight) {
  return static_cast<const ParamState&>(*optimizer.state().at(state_key(weight))).tensors.at("master");
}

void small_step(AdamW& optimizer, torch::Tensor& weight) {
  weight.mutable_grad() = torch::ones({9, 7}, torch::kBFloat16);
  optimizer.step();
}

TEST(Weights, AMasterFollowsWhatOthersWrite) {
  HalfModel model;
  AdamW optimizer(model, {.lr = 1e-4, .weight_decay = 0}, {.master_weights = true});
  small_step(optimizer, model.weight);
  EXPECT_FALSE(master_of(optimizer, model.weight).equal(model.weight.to(torch::kFloat32)));
  {
    torch::NoGradGuard no_grad;
    model.weight.fill_(3);
  }
  small_step(optimizer, model.weight);
  EXPECT_NEAR(master_of(optimizer, model.weight).max().item<double>(), 3 - 1e-4, 1e-5);
  model.weight.set_data(torch::full({9, 7}, 5, torch::kBFloat16));
  small_step(optimizer, model.weight);
  EXPECT_NEAR(master_of(optimizer, model.weight).min().item<double>(), 5 - 1e-4, 1e-5);
}

TEST(Weights, AMasterSurvivesReloadingTheSameWeights) {
  HalfModel model;
  AdamW optimizer(model, {.lr = 1e-4, .weight_decay = 0}, {.master_weights = true});
  for (int i = 0; i < 3; ++i) small_step(optimizer, model.weight);
  const torch::Tensor master = master_of(optimizer, model.weight).clone();
  model.weight.set_data(model.weight.detach().clone());
  model.weight.mutable_grad() = torch::Tensor();
  optimizer.step();
  EXPECT_TRUE(master_of(optimizer, model.weight).equal(master));
}

TEST(Weights, HalfPrecisionTypes) {
  for (const torch::ScalarType type : {torch::kFloat16, torch::kBFloat16}) {
    torch::Tensor weight = start().to(type).requires_grad_();
    TrasMuon optimizer({weight}, {.lr = 0.1});
    weight.mutable_grad() = start().to(type);
    optimizer.step();
    EXPECT_FALSE(weight.detach().equal(start().to(type)));
    EXPECT_EQ(weight.scalar_type(), type);
  }
}

}  // namespace
}  // namespace trasmuon::libtorch
