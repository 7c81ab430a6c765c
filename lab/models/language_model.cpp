// SPDX-License-Identifier: Apache-2.0
#include "lab/models/language_model.h"

#include <trasmuon/error.h>

#include <string>

#include "lab/models/gpt2.h"
#include "lab/models/head_loss.h"
#include "lab/models/qwen3.h"

namespace trasmuon::lab {

LanguageModel::LanguageModel(const LanguageModelConfig& config) : config_(config) { validate(config); }

at::Tensor LanguageModel::checked_hidden(const at::Tensor& tokens) const {
  if (tokens.dim() != 2)
    throw Error("tokens must be [batch, time], got " + std::to_string(tokens.dim()) + " dimensions");
  if (tokens.size(1) > config_.context)
    throw Error("tokens must be at most " + std::to_string(config_.context) +
                " per sequence, the model's context, got " + std::to_string(tokens.size(1)));
  return hidden(tokens);
}

at::Tensor LanguageModel::logits(const at::Tensor& tokens) const {
  return at::linear(checked_hidden(tokens), head_weight());
}

at::Tensor LanguageModel::loss(const at::Tensor& tokens, const at::Tensor& targets) const {
  if (targets.sizes() != tokens.sizes()) throw Error("targets must have the shape of the tokens");
  return head_loss(checked_hidden(tokens).flatten(0, 1), head_weight(), targets.flatten());
}

std::shared_ptr<LanguageModel> make_language_model(const LanguageModelConfig& config, std::uint64_t seed) {
  if (config.architecture == Architecture::qwen3) return std::make_shared<Qwen3>(config, seed);
  return std::make_shared<Gpt2>(config, seed);
}

}  // namespace trasmuon::lab
