// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

namespace trasmuon::lab {

/// The jet of h = tanh(a + bias), given the jet of a. A jet [4, n, width] holds a function's value, its derivatives by
/// x and by y, and its Laplacian at n points. f32 or f64, contiguous; differentiable once in both arguments.
at::Tensor tanh_jet(const at::Tensor& a, const at::Tensor& bias);

}  // namespace trasmuon::lab
