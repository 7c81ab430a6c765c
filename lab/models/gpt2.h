// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "lab/models/language_model.h"
#include "lab/models/layers.h"
#include "lab/models/transformer_block.h"

namespace trasmuon::lab {

/// GPT-2 (Radford et al. 2019): learned positions, LayerNorm, GELU by tanh, no dropout. Starts from N(0, 0.02^2), the
/// two projections of a block into the residual stream divided by sqrt(2 layers).
class Gpt2 final : public LanguageModel {
 public:
  Gpt2(const LanguageModelConfig& config, std::uint64_t seed);

 protected:
  at::Tensor hidden(const at::Tensor& tokens) const override;
  const at::Tensor& head_weight() const override { return token_embedding_->weight; }

 private:
  std::shared_ptr<Embedding> token_embedding_, position_embedding_;
  std::vector<std::shared_ptr<TransformerBlock>> blocks_;
  std::shared_ptr<LayerNorm> final_norm_;
};

}  // namespace trasmuon::lab
