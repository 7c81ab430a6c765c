// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>

#include "lab/models/layers.h"

namespace trasmuon::lab {

struct TransformerBlockOptions {
  std::int64_t width = 0, heads = 0, mlp_width = 0;
  bool causal = false;
  std::string gelu = "none";  ///< approximation: "none" or "tanh"
  double norm_epsilon = 1e-6;
};

/// The pre-norm block of GPT-2 and of vision transformers: x + attention(norm(x)), then x + mlp(norm(x)), all with
/// biases. Query, key and value are parameters of their own, so that each is a matrix for the optimizer.
class TransformerBlock : public torch::nn::Module {
 public:
  explicit TransformerBlock(const TransformerBlockOptions& options);
  at::Tensor forward(const at::Tensor& x) const;  ///< [batch, time, width]

 private:
  TransformerBlockOptions options_;
  std::shared_ptr<LayerNorm> attention_norm_, mlp_norm_;
  std::shared_ptr<Linear> query_, key_, value_, attention_output_, up_, down_;
};

}  // namespace trasmuon::lab
