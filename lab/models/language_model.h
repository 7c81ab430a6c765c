// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "lab/models/configurations.h"

namespace trasmuon::lab {

/// A decoder with tied embeddings: GPT-2 or Qwen3. Parameters are f32 on the CPU; to() moves them. Matrix products
/// follow an AutocastGuard, norms, softmax and loss stay in f32.
class LanguageModel : public torch::nn::Module {
 public:
  /// Token indices [batch, time], int64, to logits [batch, time, vocabulary].
  at::Tensor logits(const at::Tensor& tokens) const;

  /// Returns the mean cross entropy of the next tokens, `targets` [batch, time]. Does not hold all logits at a time;
  /// the gradient can be taken once.
  at::Tensor loss(const at::Tensor& tokens, const at::Tensor& targets) const;

  /// Keeps only the inputs of the blocks for the backward pass, which computes the rest again.
  void set_recompute(bool recompute) { recompute_ = recompute; }

  const LanguageModelConfig& config() const { return config_; }
  std::int64_t parameter_count() const { return lab::parameter_count(config_); }
  double flops_per_token(std::int64_t time) const { return lab::flops_per_token(config_, time); }

 protected:
  explicit LanguageModel(const LanguageModelConfig& config);

  /// What the head reads, [batch, time, width].
  virtual at::Tensor hidden(const at::Tensor& tokens) const = 0;
  virtual const at::Tensor& head_weight() const = 0;  ///< [vocabulary, width]
  bool recompute() const { return recompute_; }

 private:
  at::Tensor checked_hidden(const at::Tensor& tokens) const;

  LanguageModelConfig config_;
  bool recompute_ = false;
};

/// Makes a model of this shape. The same seed gives the same weights. Throws Error as validate() does.
std::shared_ptr<LanguageModel> make_language_model(const LanguageModelConfig& config, std::uint64_t seed);

}  // namespace trasmuon::lab
