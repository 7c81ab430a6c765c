// SPDX-License-Identifier: Apache-2.0
#include "lab/models/vision_transformer.h"

#include <trasmuon/error.h>

#include <cmath>
#include <string>

#include "lab/models/initialization.h"
#include "lab/models/recompute.h"

namespace trasmuon::lab {
namespace {

constexpr double kNormEpsilon = 1e-6, kDeviation = 0.02;

const VisionTransformerConfig& checked(const VisionTransformerConfig& config) {
  validate(config);
  return config;
}

}  // namespace

VisionTransformer::VisionTransformer(const VisionTransformerConfig& config, std::uint64_t seed)
    : config_(checked(config)) {
  const std::int64_t width = config.width, pixels = std::int64_t{config.channels} * config.patch * config.patch;
  patch_embedding_ = register_module("patch_embedding", std::make_shared<Linear>(pixels, width, /*with_bias=*/true));
  class_token_ = register_parameter("class_token", at::empty({1, 1, width}));
  position_embedding_ = register_parameter("position_embedding", at::empty({1, patches(config) + 1, width}));
  const TransformerBlockOptions options{.width = width,
                                        .heads = config.heads,
                                        .mlp_width = config.mlp_width,
                                        .causal = false,
                                        .gelu = "none",
                                        .norm_epsilon = kNormEpsilon};
  for (int i = 0; i < config.layers; ++i)
    blocks_.push_back(register_module("block" + std::to_string(i), std::make_shared<TransformerBlock>(options)));
  final_norm_ = register_module("final_norm", std::make_shared<LayerNorm>(width, kNormEpsilon));
  head_ = register_module("head", std::make_shared<Linear>(width, config.classes, /*with_bias=*/true));

  initialize(*this, seed, [&](const std::string& name) {
    return name == "patch_embedding.weight" ? 1 / std::sqrt(static_cast<double>(pixels)) : kDeviation;
  });
}

at::Tensor VisionTransformer::patch_pixels(const at::Tensor& images) const {
  const std::int64_t patch = config_.patch, side = config_.image_size / patch;
  return images.reshape({images.size(0), config_.channels, side, patch, side, patch})
      .permute({0, 2, 4, 1, 3, 5})
      .reshape({images.size(0), side * side, config_.channels * patch * patch});
}

at::Tensor VisionTransformer::logits(const at::Tensor& images) const {
  const std::int64_t size = config_.image_size;
  if (images.dim() != 4 || images.size(1) != config_.channels || images.size(2) != size || images.size(3) != size)
    throw Error("images must be [batch, " + std::to_string(config_.channels) + ", " + std::to_string(size) + ", " +
                std::to_string(size) + "], got " + c10::str(images.sizes()));
  const at::Tensor embedded = patch_embedding_->forward(patch_pixels(images)).to(class_token_.scalar_type());
  at::Tensor x = at::cat({class_token_.expand({images.size(0), -1, -1}), embedded}, 1) + position_embedding_;
  for (const std::shared_ptr<TransformerBlock>& block : blocks_) {
    const auto run = [block](const at::Tensor& input) { return block->forward(input); };
    x = recompute_ ? recompute_in_backward(run, x) : run(x);
  }
  return head_->forward(final_norm_->forward(x.select(1, 0)));
}

}  // namespace trasmuon::lab
