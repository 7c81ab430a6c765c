// SPDX-License-Identifier: Apache-2.0
#include "lab/models/configurations.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

using test::error_of;

TEST(Configurations, PublishedModelsHaveTheirNumberOfParameters) {
  EXPECT_EQ(parameter_count(language_model_config("gpt2-small")), 124'439'808);
  EXPECT_EQ(parameter_count(language_model_config("qwen3-0.6b")), 596'049'920);
  EXPECT_EQ(parameter_count(vision_transformer_config("vit-b16")), 86'567'656);
  EXPECT_EQ(parameter_count(vision_transformer_config("vit-s16")), 22'050'664);  // DeiT-S
}

TEST(Configurations, EveryNamedModelIsValid) {
  for (const std::string& name : language_model_names()) EXPECT_NO_THROW(validate(language_model_config(name))) << name;
  for (const std::string& name : vision_transformer_names())
    EXPECT_NO_THROW(validate(vision_transformer_config(name))) << name;
}

TEST(Configurations, FlopsAreSixPerUsedParameterAndToken) {
  // The attention of GPT-2 small at 1024 tokens: 12 * 12 layers * 768 * 1024 = 113 million.
  const LanguageModelConfig gpt2 = language_model_config("gpt2-small");
  EXPECT_DOUBLE_EQ(flops_per_token(gpt2, 1024), 6.0 * (124'439'808 - 1024 * 768) + 12.0 * 12 * 768 * 1024);
  // ViT-B/16: 17.5 GFLOPs are published for multiplications and additions counted as one; forward and backward are
  // 3 times 2 of them.
  EXPECT_NEAR(flops_per_image(vision_transformer_config("vit-b16")) / 6, 17.5e9, 0.3e9);
}

TEST(Configurations, ErrorsNameFieldRuleAndValue) {
  EXPECT_EQ(error_of([] { language_model_config("gpt3"); }),
            "model must be one of gpt2-small, gpt2-tiny, qwen3-0.6b, qwen3-tiny, got 'gpt3'");
  EXPECT_EQ(error_of([] { vision_transformer_config(""); }),
            "model must be one of vit-b16, vit-s16, vit-cifar, vit-tiny, got ''");

  LanguageModelConfig gpt2 = language_model_config("gpt2-tiny");
  gpt2.width = 130;
  EXPECT_EQ(error_of([&] { validate(gpt2); }), "model: width must be a multiple of heads (4), got 130");
  gpt2 = language_model_config("gpt2-tiny");
  gpt2.key_value_heads = 2;
  EXPECT_EQ(error_of([&] { validate(gpt2); }), "model: key_value_heads of GPT-2 must equal heads (4), got 2");
  gpt2 = language_model_config("gpt2-tiny");
  gpt2.head_width = 64;
  EXPECT_EQ(error_of([&] { validate(gpt2); }), "model: head_width of GPT-2 must be width / heads (32), got 64");

  LanguageModelConfig qwen3 = language_model_config("qwen3-tiny");
  qwen3.head_width = 5;
  EXPECT_EQ(error_of([&] { validate(qwen3); }), "model: head_width must be even for rotary positions, got 5");
  qwen3 = language_model_config("qwen3-tiny");
  qwen3.key_value_heads = 3;
  EXPECT_EQ(error_of([&] { validate(qwen3); }), "model: heads must be a multiple of key_value_heads (3), got 4");

  VisionTransformerConfig vit = vision_transformer_config("vit-tiny");
  vit.image_size = 30;
  EXPECT_EQ(error_of([&] { validate(vit); }), "model: image_size must be a multiple of patch (7), got 30");
  vit.classes = 0;
  EXPECT_EQ(error_of([&] { validate(vit); }), "model: classes must be >= 1, got 0");
}

}  // namespace
}  // namespace trasmuon::lab
