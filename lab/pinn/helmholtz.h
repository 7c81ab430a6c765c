// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include "lab/pinn/sampling.h"

namespace trasmuon::lab {

/// Delta u + kappa^2 u = f on [0, 1]^2, u = 0 on the boundary, kappa = pi k, solved by
/// u*(x, y) = sin(pi k x) sin(pi k y). Delta u* = -2 kappa^2 u*, hence f = -kappa^2 u*.
struct Helmholtz {
  int k = 2;

  double kappa_squared() const;
  at::Tensor solution(const at::Tensor& points) const;  ///< [n, 2] -> [n]
  /// Delta u + kappa^2 u - f at the points.
  at::Tensor residual(const at::Tensor& u, const at::Tensor& laplacian, const at::Tensor& points) const;
};

at::Tensor to_tensor(const Points& points, at::ScalarType dtype);  ///< [n, 2]

/// ||u - u*|| / ||u*|| over the points.
double relative_l2(const at::Tensor& u, const at::Tensor& solution);
double root_mean_square(const at::Tensor& values);

}  // namespace trasmuon::lab
