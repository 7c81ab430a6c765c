// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <functional>

namespace trasmuon::lab {

/// Returns block(input) without keeping what the block computes on the way; the backward pass computes it again.
/// Values and gradients are those of block(input), for a third more computation. The block must compute the same
/// twice (no dropout). Gradients reach the block's parameters only through backward(), not through autograd::grad().
at::Tensor recompute_in_backward(std::function<at::Tensor(const at::Tensor&)> block, const at::Tensor& input);

}  // namespace trasmuon::lab
