// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

namespace trasmuon::lab {

/// Returns softmax(Q K^T / sqrt(head_width)) V, [batch, heads, time, head_width]. Keys and values may have fewer heads
/// than the queries, by a whole factor (grouped-query attention). `causal`: a position sees none after it.
/// Uses LibTorch's fused attention where there is one (2.5 and later).
at::Tensor attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values, bool causal);

/// The same in single operations: the reference, and what LibTorch before 2.5 runs.
at::Tensor explicit_attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values, bool causal);

/// [batch, time, heads * head_width] to and from [batch, heads, time, head_width].
at::Tensor split_heads(const at::Tensor& x, std::int64_t heads);
at::Tensor merge_heads(const at::Tensor& x);

}  // namespace trasmuon::lab
