// SPDX-License-Identifier: Apache-2.0
#include "lab/models/gpt2.h"

#include <cmath>
#include <string>

#include "lab/models/initialization.h"
#include "lab/models/recompute.h"

namespace trasmuon::lab {
namespace {

constexpr double kNormEpsilon = 1e-5, kDeviation = 0.02;

}  // namespace

Gpt2::Gpt2(const LanguageModelConfig& config, std::uint64_t seed)
    : LanguageModel(config),
      token_embedding_(
          register_module("token_embedding", std::make_shared<Embedding>(config.vocabulary, config.width))),
      position_embedding_(
          register_module("position_embedding", std::make_shared<Embedding>(config.context, config.width))) {
  const TransformerBlockOptions options{.width = config.width,
                                        .heads = config.heads,
                                        .mlp_width = config.mlp_width,
                                        .causal = true,
                                        .gelu = "tanh",
                                        .norm_epsilon = kNormEpsilon};
  for (int i = 0; i < config.layers; ++i)
    blocks_.push_back(register_module("block" + std::to_string(i), std::make_shared<TransformerBlock>(options)));
  final_norm_ = register_module("final_norm", std::make_shared<LayerNorm>(config.width, kNormEpsilon));

  const double residual = kDeviation / std::sqrt(2.0 * config.layers);
  initialize(*this, seed, [&](const std::string& name) {
    return name.ends_with("attention_output.weight") || name.ends_with("down.weight") ? residual : kDeviation;
  });
}

at::Tensor Gpt2::hidden(const at::Tensor& tokens) const {
  const at::Tensor positions = at::arange(tokens.size(1), tokens.options());
  at::Tensor x = token_embedding_->forward(tokens) + position_embedding_->forward(positions);
  for (const std::shared_ptr<TransformerBlock>& block : blocks_) {
    const auto run = [block](const at::Tensor& input) { return block->forward(input); };
    x = recompute() ? recompute_in_backward(run, x) : run(x);
  }
  return final_norm_->forward(x);
}

}  // namespace trasmuon::lab
