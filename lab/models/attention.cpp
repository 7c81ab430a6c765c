// SPDX-License-Identifier: Apache-2.0
#include "lab/models/attention.h"

#include <torch/version.h>

#include <cmath>
#include <limits>

namespace trasmuon::lab {

at::Tensor explicit_attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                              bool causal) {
  const std::int64_t groups = queries.size(1) / keys.size(1);
  const auto for_each_query = [&](const at::Tensor& x) { return groups == 1 ? x : x.repeat_interleave(groups, 1); };
  const double scale = 1 / std::sqrt(static_cast<double>(queries.size(3)));
  at::Tensor scores = at::matmul(queries * scale, for_each_query(keys).transpose(2, 3));
  if (causal) {
    const std::int64_t time = scores.size(2);
    const at::Tensor later = at::ones({time, time}, scores.options().dtype(at::kBool)).triu(1);
    scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
  }
  const at::ScalarType softmax_type = at::promote_types(scores.scalar_type(), at::kFloat);
  return at::matmul(at::softmax(scores, 3, softmax_type).to(values.scalar_type()), for_each_query(values));
}

at::Tensor attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values, bool causal) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
  const bool grouped = queries.size(1) != keys.size(1);
  return at::scaled_dot_product_attention(queries, keys, values, {}, /*dropout_p=*/0, causal, {}, grouped);
#else
  return explicit_attention(queries, keys, values, causal);
#endif
}

at::Tensor split_heads(const at::Tensor& x, std::int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

at::Tensor merge_heads(const at::Tensor& x) { return x.transpose(1, 2).flatten(2); }

}  // namespace trasmuon::lab
