// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "lab/models/language_model.h"
#include "lab/models/layers.h"

namespace trasmuon::lab {

class Qwen3Block;

/// Qwen3 (Yang et al. 2025): grouped-query attention, rotary positions of base 1e6, RMSNorm also on the heads of
/// queries and keys, SwiGLU, no biases. Starts from N(0, 0.02^2).
class Qwen3 final : public LanguageModel {
 public:
  Qwen3(const LanguageModelConfig& config, std::uint64_t seed);
  ~Qwen3() override;

 protected:
  at::Tensor hidden(const at::Tensor& tokens) const override;
  const at::Tensor& head_weight() const override { return token_embedding_->weight; }

 private:
  std::shared_ptr<Embedding> token_embedding_;
  std::vector<std::shared_ptr<Qwen3Block>> blocks_;
  std::shared_ptr<RmsNorm> final_norm_;
};

}  // namespace trasmuon::lab
