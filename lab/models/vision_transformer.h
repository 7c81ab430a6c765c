// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "lab/models/configurations.h"
#include "lab/models/layers.h"
#include "lab/models/transformer_block.h"

namespace trasmuon::lab {

/// A vision transformer as in DeiT (Touvron et al. 2021): pre-norm blocks, learned positions, a class token that the
/// head reads. No dropout and no stochastic depth. Starts from N(0, 0.02^2); the patch embedding from N(0, 1 / pixels).
class VisionTransformer final : public torch::nn::Module {
 public:
  VisionTransformer(const VisionTransformerConfig& config, std::uint64_t seed);

  at::Tensor logits(const at::Tensor& images) const;  ///< [batch, channels, size, size] -> [batch, classes]

  /// Keeps only the inputs of the blocks for the backward pass, which computes the rest again.
  void set_recompute(bool recompute) { recompute_ = recompute; }

  const VisionTransformerConfig& config() const { return config_; }
  std::int64_t parameter_count() const { return lab::parameter_count(config_); }
  double flops_per_image() const { return lab::flops_per_image(config_); }

 private:
  at::Tensor patch_pixels(const at::Tensor& images) const;  ///< [batch, patches, pixels of a patch]

  VisionTransformerConfig config_;
  std::shared_ptr<Linear> patch_embedding_, head_;
  at::Tensor class_token_, position_embedding_;  ///< [1, 1, width], [1, patches + 1, width]
  std::vector<std::shared_ptr<TransformerBlock>> blocks_;
  std::shared_ptr<LayerNorm> final_norm_;
  bool recompute_ = false;
};

}  // namespace trasmuon::lab
