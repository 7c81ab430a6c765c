// SPDX-License-Identifier: Apache-2.0
#include "lab/models/initialization.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lab/models/language_model.h"
#include "lab/models/vision_transformer.h"

namespace trasmuon::lab {
namespace {

void expect_moments(const torch::nn::Module& model, const std::string& name, double deviation) {
  const at::Tensor weight = model.named_parameters()[name].detach();
  const double count = static_cast<double>(weight.numel());
  EXPECT_NEAR(weight.mean().item<double>(), 0, 5 * deviation / std::sqrt(count)) << name;
  EXPECT_NEAR(weight.std().item<double>(), deviation, 5 * deviation / std::sqrt(2 * count)) << name;
}

TEST(Initialization, TheSameSeedGivesTheSameBits) {
  const LanguageModelConfig config = language_model_config("qwen3-tiny");
  const auto first = make_language_model(config, 7);
  torch::manual_seed(99);  // LibTorch's own generator has no part in it
  const auto second = make_language_model(config, 7), other = make_language_model(config, 8);
  for (const auto& item : first->named_parameters()) {
    EXPECT_TRUE(at::equal(item.value(), second->named_parameters()[item.key()])) << item.key();
  }
  EXPECT_FALSE(at::equal(first->named_parameters()["block0.up.weight"], other->named_parameters()["block0.up.weight"]));
}

TEST(Initialization, IsThatOfGpt2) {
  const auto model = make_language_model(language_model_config("gpt2-tiny"), 1);
  expect_moments(*model, "token_embedding.weight", 0.02);
  expect_moments(*model, "position_embedding.weight", 0.02);
  expect_moments(*model, "block2.query.weight", 0.02);
  expect_moments(*model, "block2.up.weight", 0.02);
  expect_moments(*model, "block2.attention_output.weight", 0.02 / std::sqrt(8));
  expect_moments(*model, "block3.down.weight", 0.02 / std::sqrt(8));
  const auto parameters = model->named_parameters();
  EXPECT_TRUE(at::equal(parameters["block0.mlp_norm.weight"].detach(), at::ones({128})));
  EXPECT_TRUE(at::equal(parameters["block0.mlp_norm.bias"].detach(), at::zeros({128})));
  EXPECT_TRUE(at::equal(parameters["block0.up.bias"].detach(), at::zeros({512})));
}

TEST(Initialization, IsThatOfVisionTransformers) {
  const VisionTransformer model(vision_transformer_config("vit-tiny"), 1);
  expect_moments(model, "patch_embedding.weight", 1.0 / 7);
  expect_moments(model, "class_token", 0.02);
  expect_moments(model, "block0.down.weight", 0.02);
  expect_moments(model, "head.weight", 0.02);
}

}  // namespace
}  // namespace trasmuon::lab
