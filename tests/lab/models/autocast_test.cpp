// SPDX-License-Identifier: Apache-2.0
#include "lab/models/autocast.h"

#include <gtest/gtest.h>

#include "lab/models/language_model.h"
#include "lab/models/layers.h"
#include "lab/models/vision_transformer.h"

namespace trasmuon::lab {
namespace {

TEST(Autocast, ComputesProductsInTheTypeAndRestoresWhatWas) {
  const at::Tensor x = at::ones({2, 2});
  {
    const AutocastGuard outer(at::kCPU, at::kBFloat16);
    EXPECT_EQ(at::linear(x, x).scalar_type(), at::kBFloat16);
    EXPECT_EQ(to_product_type(x).scalar_type(), at::kBFloat16);
    EXPECT_EQ(to_product_type(x.to(at::kDouble)).scalar_type(), at::kDouble);
    {
      const AutocastGuard inner(at::kCPU, std::nullopt);
      EXPECT_EQ(at::linear(x, x).scalar_type(), at::kFloat);
    }
    EXPECT_EQ(autocast_type(at::kCPU), at::kBFloat16);
  }
  EXPECT_EQ(autocast_type(at::kCPU), std::nullopt);
  EXPECT_EQ(to_product_type(x).scalar_type(), at::kFloat);
}

TEST(Autocast, NormsStayInF32) {
  RmsNorm norm(3, 1e-6);
  torch::NoGradGuard no_grad;
  norm.weight.fill_(1);
  const AutocastGuard precision(at::kCPU, at::kBFloat16);
  EXPECT_EQ(norm.forward(at::ones({2, 3}, at::kBFloat16)).scalar_type(), at::kFloat);
}

/// Relative difference of all gradients together.
template <class Model, class Loss>
double gradient_difference(Model& model, Loss&& loss_of) {
  const auto gradients = [&](std::optional<at::ScalarType> type) {
    model.zero_grad();
    {
      const AutocastGuard precision(at::kCPU, type);
      const at::Tensor loss = loss_of();
      EXPECT_EQ(loss.scalar_type(), at::kFloat);
      loss.backward();
    }
    std::vector<at::Tensor> flat;
    for (const at::Tensor& parameter : model.parameters()) {
      EXPECT_EQ(parameter.grad().scalar_type(), at::kFloat);
      flat.push_back(parameter.grad().flatten().clone());
    }
    return at::cat(flat);
  };
  const at::Tensor exact = gradients(std::nullopt), rounded = gradients(at::kBFloat16);
  return ((exact - rounded).norm() / exact.norm()).item<double>();
}

TEST(Autocast, ModelsTrainInMixedPrecision) {
  for (const char* name : {"gpt2-tiny", "qwen3-tiny"}) {
    const auto model = make_language_model(language_model_config(name), 1);
    const at::Tensor tokens = at::arange(64).reshape({2, 32});
    const double difference = gradient_difference(*model, [&] { return model->loss(tokens, tokens + 1); });
    EXPECT_GT(difference, 1e-5) << name;  // it was another precision
    EXPECT_LT(difference, 0.03) << name;  // a few roundings of 2^-9
  }
  VisionTransformer vit(vision_transformer_config("vit-tiny"), 1);
  const at::Tensor images = at::randn({4, 1, 28, 28}), targets = at::arange(4);
  const double difference =
      gradient_difference(vit, [&] { return at::cross_entropy_loss(vit.logits(images).to(at::kFloat), targets); });
  EXPECT_GT(difference, 1e-5);
  EXPECT_LT(difference, 0.03);
}

}  // namespace
}  // namespace trasmuon::lab
