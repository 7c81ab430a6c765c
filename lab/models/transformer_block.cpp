// SPDX-License-Identifier: Apache-2.0
#include "lab/models/transformer_block.h"

#include "lab/models/attention.h"
#include "lab/models/autocast.h"

namespace trasmuon::lab {

TransformerBlock::TransformerBlock(const TransformerBlockOptions& options) : options_(options) {
  const auto norm = [&](const char* name) {
    return register_module(name, std::make_shared<LayerNorm>(options.width, options.norm_epsilon));
  };
  const auto linear = [&](const char* name, std::int64_t in, std::int64_t out) {
    return register_module(name, std::make_shared<Linear>(in, out, /*with_bias=*/true));
  };
  const std::int64_t width = options.width;
  attention_norm_ = norm("attention_norm");
  query_ = linear("query", width, width);
  key_ = linear("key", width, width);
  value_ = linear("value", width, width);
  attention_output_ = linear("attention_output", width, width);
  mlp_norm_ = norm("mlp_norm");
  up_ = linear("up", width, options.mlp_width);
  down_ = linear("down", options.mlp_width, width);
}

at::Tensor TransformerBlock::forward(const at::Tensor& x) const {
  const at::Tensor normed = to_product_type(attention_norm_->forward(x));
  const auto heads_of = [&](const Linear& projection) {
    return split_heads(projection.forward(normed), options_.heads);
  };
  const at::Tensor mixed = attention(heads_of(*query_), heads_of(*key_), heads_of(*value_), options_.causal);
  const at::Tensor middle = x + attention_output_->forward(merge_heads(mixed));
  return middle + down_->forward(at::gelu(up_->forward(mlp_norm_->forward(middle)), options_.gelu));
}

}  // namespace trasmuon::lab
