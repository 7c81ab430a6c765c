// SPDX-License-Identifier: Apache-2.0
#include "lab/models/qwen3.h"

#include <string>

#include "lab/models/attention.h"
#include "lab/models/autocast.h"
#include "lab/models/initialization.h"
#include "lab/models/recompute.h"
#include "lab/models/rotary.h"

namespace trasmuon::lab {
namespace {

constexpr double kNormEpsilon = 1e-6, kRotaryBase = 1e6, kDeviation = 0.02;

}  // namespace

class Qwen3Block : public torch::nn::Module {
 public:
  explicit Qwen3Block(const LanguageModelConfig& config)
      : heads_(config.heads), key_value_heads_(config.key_value_heads) {
    const auto norm = [&](const char* name, std::int64_t width) {
      return register_module(name, std::make_shared<RmsNorm>(width, kNormEpsilon));
    };
    const auto linear = [&](const char* name, std::int64_t in, std::int64_t out) {
      return register_module(name, std::make_shared<Linear>(in, out, /*with_bias=*/false));
    };
    const std::int64_t width = config.width, head = head_width(config);
    attention_norm_ = norm("attention_norm", width);
    query_ = linear("query", width, heads_ * head);
    key_ = linear("key", width, key_value_heads_ * head);
    value_ = linear("value", width, key_value_heads_ * head);
    query_norm_ = norm("query_norm", head);
    key_norm_ = norm("key_norm", head);
    attention_output_ = linear("attention_output", heads_ * head, width);
    mlp_norm_ = norm("mlp_norm", width);
    gate_ = linear("gate", width, config.mlp_width);
    up_ = linear("up", width, config.mlp_width);
    down_ = linear("down", config.mlp_width, width);
  }

  at::Tensor forward(const at::Tensor& x, const RotaryPositions& positions) const {
    const at::Tensor normed = to_product_type(attention_norm_->forward(x));
    const at::Tensor value = split_heads(value_->forward(normed), key_value_heads_);
    const auto placed = [&](const Linear& projection, const RmsNorm& norm, std::int64_t heads) {
      const at::Tensor x_heads = norm.forward(split_heads(projection.forward(normed), heads));
      return positions.rotate(x_heads).to(value.scalar_type());
    };
    const at::Tensor query = placed(*query_, *query_norm_, heads_);
    const at::Tensor key = placed(*key_, *key_norm_, key_value_heads_);
    const at::Tensor mixed = merge_heads(attention(query, key, value, /*causal=*/true));
    const at::Tensor middle = x + attention_output_->forward(mixed);
    const at::Tensor mlp_input = to_product_type(mlp_norm_->forward(middle));
    return middle + down_->forward(at::silu(gate_->forward(mlp_input)) * up_->forward(mlp_input));
  }

 private:
  std::int64_t heads_, key_value_heads_;
  std::shared_ptr<RmsNorm> attention_norm_, query_norm_, key_norm_, mlp_norm_;
  std::shared_ptr<Linear> query_, key_, value_, attention_output_, gate_, up_, down_;
};

Qwen3::Qwen3(const LanguageModelConfig& config, std::uint64_t seed)
    : LanguageModel(config),
      token_embedding_(
          register_module("token_embedding", std::make_shared<Embedding>(config.vocabulary, config.width))) {
  for (int i = 0; i < config.layers; ++i)
    blocks_.push_back(register_module("block" + std::to_string(i), std::make_shared<Qwen3Block>(config)));
  final_norm_ = register_module("final_norm", std::make_shared<RmsNorm>(config.width, kNormEpsilon));
  initialize(*this, seed, [](const std::string&) { return kDeviation; });
}

Qwen3::~Qwen3() = default;

at::Tensor Qwen3::hidden(const at::Tensor& tokens) const {
  at::Tensor x = token_embedding_->forward(tokens);
  const at::TensorOptions wide = x.options().dtype(at::promote_types(x.scalar_type(), at::kFloat));
  const RotaryPositions positions(tokens.size(1), head_width(config()), kRotaryBase, wide);
  for (const std::shared_ptr<Qwen3Block>& block : blocks_) {
    const auto run = [block, positions](const at::Tensor& input) { return block->forward(input, positions); };
    x = recompute() ? recompute_in_backward(run, x) : run(x);
  }
  return final_norm_->forward(x);
}

}  // namespace trasmuon::lab
