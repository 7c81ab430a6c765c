// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include "lab/pinn/helmholtz.h"
#include "lab/pinn/mlp.h"

// E[r^2 / 2], r the residual of the network at the points. Two ways to compute the same numbers; both add the gradients
// to those of the network's parameters and return the loss.
namespace trasmuon::lab {

/// Propagates value, gradient and Laplacian through the layers together, and their gradients back: the fast way.
double add_residual_gradients(const Mlp& mlp, const Helmholtz& problem, const at::Tensor& points);

/// Differentiates twice by autograd, and once more for the parameters: the reference.
double add_residual_gradients_by_autograd(const Mlp& mlp, const Helmholtz& problem, const at::Tensor& points);

}  // namespace trasmuon::lab
