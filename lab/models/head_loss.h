// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace trasmuon::lab {

/// Returns the mean cross entropy of softmax(hidden weight^T) against the targets, without ever holding all logits:
/// they are computed for some rows at a time, with their gradients, in the forward pass.
/// hidden [rows, width], weight [vocabulary, width], targets [rows] in [0, vocabulary). `rows_at_a_time` 0: as many as
/// fill 128 MB of logits, or 1 GB on a GPU.
/// Its gradient can be taken once, and not differentiated again (docs/decisions/0012-loss-without-all-logits.md).
at::Tensor head_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets,
                     std::int64_t rows_at_a_time = 0);

}  // namespace trasmuon::lab
