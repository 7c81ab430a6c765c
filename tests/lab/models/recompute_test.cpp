// SPDX-License-Identifier: Apache-2.0
#include "lab/models/recompute.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "lab/models/autocast.h"
#include "lab/models/language_model.h"
#include "lab/models/vision_transformer.h"

namespace trasmuon::lab {
namespace {

using Gradients = std::map<std::string, at::Tensor>;

Gradients take_gradients(torch::nn::Module& model) {
  Gradients gradients;
  for (auto& item : model.named_parameters()) gradients[item.key()] = item.value().grad().clone();
  model.zero_grad();
  return gradients;
}

void expect_same_bits(const Gradients& a, const Gradients& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, gradient] : a) EXPECT_TRUE(at::equal(gradient, b.at(name))) << name;
}

TEST(Recompute, LanguageModelsHaveTheSameLossAndGradientsBitForBit) {
  for (const bool mixed_precision : {false, true}) {
    for (const char* name : {"gpt2-tiny", "qwen3-tiny"}) {
      const auto model = make_language_model(language_model_config(name), 5);
      const at::Tensor tokens = at::randint(256, {2, 16}, at::kLong), targets = at::randint(256, {2, 16}, at::kLong);
      const auto gradients = [&](bool recompute, at::Tensor& loss) {
        model->set_recompute(recompute);
        {
          const AutocastGuard precision(at::kCPU, mixed_precision ? std::optional(at::kBFloat16) : std::nullopt);
          loss = model->loss(tokens, targets);
        }
        loss.backward();  // outside the guard: the block must remember its precision
        return take_gradients(*model);
      };
      at::Tensor loss, again;
      const Gradients kept = gradients(false, loss), recomputed = gradients(true, again);
      EXPECT_TRUE(at::equal(loss, again)) << name;
      expect_same_bits(kept, recomputed);
    }
  }
}

TEST(Recompute, VisionTransformersHaveTheSameGradientsBitForBit) {
  VisionTransformer model(vision_transformer_config("vit-tiny"), 5);
  const at::Tensor images = at::randn({3, 1, 28, 28});
  const auto gradients = [&](bool recompute) {
    model.set_recompute(recompute);
    model.logits(images).square().sum().backward();
    return take_gradients(model);
  };
  expect_same_bits(gradients(false), gradients(true));
}

TEST(Recompute, RunsTheBlockAgainInBackwardAndOnlyThere) {
  int calls = 0;
  const auto block = [&](const at::Tensor& x) {
    ++calls;
    return x.square();
  };
  const at::Tensor x = at::full({2}, 3.0).requires_grad_();
  const at::Tensor y = recompute_in_backward(block, x);
  EXPECT_EQ(calls, 1);
  y.sum().backward();
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(at::equal(x.grad(), at::full({2}, 6.0)));
  {
    at::NoGradGuard no_grad;
    recompute_in_backward(block, x);
  }
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace trasmuon::lab
