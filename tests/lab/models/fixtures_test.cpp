// SPDX-License-Identifier: Apache-2.0
// The models against Hugging Face's, in double; the tolerance covers rotary tables that they compute in f32.
#include <gtest/gtest.h>
#include <trasmuon/error.h>

#include "lab/models/fixture.h"
#include "lab/models/language_model.h"
#include "lab/models/vision_transformer.h"

namespace trasmuon::lab {
namespace {

constexpr double kTolerance = 1e-5;

void expect_logits(const ModelFixture& fixture, const at::Tensor& logits) {
  const auto expected = fixture.json.at("logits").get<std::vector<double>>();
  const at::Tensor flat = logits.detach().flatten();
  ASSERT_EQ(flat.numel(), static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(flat[static_cast<std::int64_t>(i)].item<double>(), expected[i], kTolerance) << "logit " << i;
}

void expect_loss_and_gradients(const ModelFixture& fixture, torch::nn::Module& model, const at::Tensor& loss) {
  EXPECT_NEAR(loss.item<double>(), fixture.json.at("loss").get<double>(), kTolerance);
  loss.backward();
  for (const auto& item : model.named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    const double norm = item.value().grad().norm().item<double>(), expected = fixture.gradient_norms.at(item.key());
    EXPECT_NEAR(norm, expected, kTolerance * (1 + expected)) << item.key();
  }
}

std::int64_t elements(const torch::nn::Module& model) {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : model.parameters()) count += parameter.numel();
  return count;
}

class LanguageFixture : public testing::TestWithParam<std::pair<const char*, Architecture>> {};

TEST_P(LanguageFixture, LogitsLossAndGradientsAreTheirs) {
  const auto [name, architecture] = GetParam();
  const ModelFixture fixture(name);
  const auto model = make_language_model(language_config_of(fixture, architecture), 0);
  EXPECT_EQ(elements(*model), model->parameter_count());
  fixture.load_into(*model);
  expect_logits(fixture, model->logits(fixture.input("tokens")));
  expect_loss_and_gradients(fixture, *model, model->loss(fixture.input("tokens"), fixture.input("targets")));
}

INSTANTIATE_TEST_SUITE_P(HuggingFace, LanguageFixture,
                         testing::Values(std::pair("gpt2", Architecture::gpt2),
                                         std::pair("qwen3", Architecture::qwen3)),
                         [](const auto& instance) { return std::string(instance.param.first); });

TEST(VisionFixture, LogitsLossAndGradientsAreTheirs) {
  const ModelFixture fixture("vit");
  VisionTransformer model(vision_config_of(fixture), 0);
  EXPECT_EQ(elements(model), model.parameter_count());
  fixture.load_into(model);
  const at::Tensor logits = model.logits(fixture.input("images"));
  expect_logits(fixture, logits);
  expect_loss_and_gradients(fixture, model, at::cross_entropy_loss(logits, fixture.input("targets")));
}

TEST(Models, RefuseInputsOfAnotherShape) {
  LanguageModelConfig config = language_model_config("gpt2-tiny");
  config.context = 8;
  const auto model = make_language_model(config, 0);
  EXPECT_THROW(model->logits(at::zeros({1, 9}, at::kLong)), Error);
  EXPECT_THROW(model->logits(at::zeros({8}, at::kLong)), Error);
  EXPECT_THROW(model->loss(at::zeros({1, 8}, at::kLong), at::zeros({1, 7}, at::kLong)), Error);
  const VisionTransformer vit(vision_transformer_config("vit-tiny"), 0);
  EXPECT_THROW(vit.logits(at::zeros({1, 3, 28, 28})), Error);
  EXPECT_THROW(vit.logits(at::zeros({1, 1, 32, 32})), Error);
}

TEST(Models, APositionDoesNotSeeLaterTokens) {
  for (const char* name : {"gpt2-tiny", "qwen3-tiny"}) {
    const auto model = make_language_model(language_model_config(name), 3);
    at::Tensor tokens = at::arange(12).reshape({1, 12});
    const at::Tensor before = model->logits(tokens);
    tokens[0][7] = 200;
    const at::Tensor after = model->logits(tokens);
    EXPECT_TRUE(at::allclose(before.narrow(1, 0, 7), after.narrow(1, 0, 7), 0, 1e-6)) << name;
    EXPECT_FALSE(at::allclose(before.narrow(1, 7, 5), after.narrow(1, 7, 5), 0, 1e-3)) << name;
  }
}

}  // namespace
}  // namespace trasmuon::lab
