// SPDX-License-Identifier: Apache-2.0
// The models on a GPU are those on the CPU.
#include <gtest/gtest.h>

#include <memory>

#include "lab/models/autocast.h"
#include "lab/models/language_model.h"
#include "lab/models/vision_transformer.h"
#include "libtorch/on_gpu.h"

namespace trasmuon::lab {
namespace {

class ModelsOnGpu : public libtorch::LibtorchOnGpu {};

using Type = std::optional<at::ScalarType>;

/// Loss and gradients, on the CPU in f64.
struct Result {
  double loss = 0;
  std::vector<at::Tensor> gradients;
};

template <class Loss>
Result result_of(torch::nn::Module& model, at::DeviceType device, Type type, Loss&& loss_of) {
  at::Tensor loss;
  {
    const AutocastGuard precision(device, type);
    loss = loss_of();
  }
  loss.backward();
  Result result{.loss = loss.item<double>(), .gradients = {}};
  for (const at::Tensor& parameter : model.parameters())
    result.gradients.push_back(parameter.grad().to(at::kCPU, at::kDouble));
  model.zero_grad();
  return result;
}

/// Of all gradients together.
double difference(const Result& a, const Result& b) {
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < a.gradients.size(); ++i) {
    apart += (a.gradients[i] - b.gradients[i]).square().sum().item<double>();
    size += b.gradients[i].square().sum().item<double>();
  }
  return std::sqrt(apart / size);
}

/// f32 differs by the order of sums; bf16 rounds products to 2^-9, in a few layers.
struct Precision {
  Type type;
  double loss, gradients;
};
const Precision kPrecisions[] = {{std::nullopt, 1e-5, 1e-4}, {at::kBFloat16, 1e-2, 5e-2}};

TEST_F(ModelsOnGpu, LanguageModelsHaveTheLossAndTheGradientsOfTheCpu) {
  for (const char* name : {"gpt2-tiny", "qwen3-tiny"}) {
    const auto here = make_language_model(language_model_config(name), 5);
    const auto there = make_language_model(language_model_config(name), 5);
    there->to(at::kCUDA);
    const at::Tensor tokens = at::randint(256, {3, 24}, at::kLong), targets = at::randint(256, {3, 24}, at::kLong);
    const Result expected = result_of(*here, at::kCPU, std::nullopt, [&] { return here->loss(tokens, targets); });
    for (const Precision& precision : kPrecisions) {
      for (const bool recompute : {false, true}) {
        there->set_recompute(recompute);
        const Result got = result_of(*there, at::kCUDA, precision.type,
                                     [&] { return there->loss(tokens.to(at::kCUDA), targets.to(at::kCUDA)); });
        EXPECT_NEAR(got.loss, expected.loss, precision.loss * expected.loss) << name;
        EXPECT_LT(difference(got, expected), precision.gradients) << name;
      }
    }
  }
}

TEST_F(ModelsOnGpu, VisionTransformersHaveTheGradientsOfTheCpu) {
  VisionTransformer here(vision_transformer_config("vit-tiny"), 5), there(vision_transformer_config("vit-tiny"), 5);
  there.to(at::kCUDA);
  const at::Tensor images = at::randn({4, 1, 28, 28}), labels = at::tensor({1, 2, 3, 4}, at::kLong);
  const Result expected =
      result_of(here, at::kCPU, std::nullopt, [&] { return at::cross_entropy_loss(here.logits(images), labels); });
  for (const Precision& precision : kPrecisions) {
    const Result got = result_of(there, at::kCUDA, precision.type, [&] {
      return at::cross_entropy_loss(there.logits(images.to(at::kCUDA)).to(at::kFloat), labels.to(at::kCUDA));
    });
    EXPECT_NEAR(got.loss, expected.loss, precision.loss * expected.loss);
    EXPECT_LT(difference(got, expected), precision.gradients);
  }
}

}  // namespace
}  // namespace trasmuon::lab
