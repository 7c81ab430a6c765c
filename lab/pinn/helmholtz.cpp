// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/helmholtz.h"

#include <cmath>
#include <numbers>

namespace trasmuon::lab {

double Helmholtz::kappa_squared() const { return std::pow(std::numbers::pi * k, 2); }

at::Tensor Helmholtz::solution(const at::Tensor& points) const {
  return at::sin(points * (std::numbers::pi * k)).prod(1);
}

at::Tensor Helmholtz::residual(const at::Tensor& u, const at::Tensor& laplacian, const at::Tensor& points) const {
  return laplacian + (u + solution(points)) * kappa_squared();
}

at::Tensor to_tensor(const Points& points, at::ScalarType dtype) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(points.size() / 2), 2}, at::kDouble);
  std::copy(points.begin(), points.end(), tensor.data_ptr<double>());
  return tensor.to(dtype);
}

double relative_l2(const at::Tensor& u, const at::Tensor& solution) {
  return root_mean_square(u - solution) / root_mean_square(solution);
}

double root_mean_square(const at::Tensor& values) {
  return std::sqrt(values.to(at::kDouble).square().mean().item<double>());
}

}  // namespace trasmuon::lab
