// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include "lab/pinn/mlp.h"

// Two ways to compute the same numbers, both differentiable in the network's parameters.
namespace trasmuon::lab {

struct ValueAndLaplacian {
  at::Tensor value, laplacian;  ///< [n] each
};

/// Propagates value, gradient and Laplacian through the layers together: the fast way.
ValueAndLaplacian forward_laplacian(const Mlp& mlp, const at::Tensor& points);

/// Differentiates twice by autograd: the reference.
ValueAndLaplacian double_backward_laplacian(const Mlp& mlp, const at::Tensor& points);

}  // namespace trasmuon::lab
