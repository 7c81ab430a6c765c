// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/helmholtz.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <numbers>

namespace trasmuon::lab {
namespace {

at::Tensor some_points() {
  Random random(3);
  return to_tensor(interior_points(random, 50), at::kDouble);
}

/// By autograd, of any function of the points.
template <class Function>
at::Tensor laplacian_of(Function function, const at::Tensor& at_points) {
  using torch::autograd::grad;
  const at::Tensor points = at_points.clone().requires_grad_();
  const at::Tensor u = function(points), ones = at::ones_like(u);
  const at::Tensor slope = grad({u}, {points}, {ones}, true, true)[0];
  at::Tensor sum = at::zeros_like(u);
  for (int i = 0; i < 2; ++i) sum = sum + grad({slope.select(1, i)}, {points}, {ones}, true)[0].select(1, i);
  return sum;
}

TEST(Helmholtz, TheSolutionHasNoResidual) {
  for (const int k : {1, 2, 5}) {
    const Helmholtz problem{k};
    const at::Tensor points = some_points();
    const at::Tensor laplacian = laplacian_of([&](const at::Tensor& x) { return problem.solution(x); }, points);
    EXPECT_LT(problem.residual(problem.solution(points), laplacian, points).abs().max().item<double>(), 1e-11);
  }
}

TEST(Helmholtz, AnotherFunctionHasOne) {
  // u = x^2 y: Delta u + kappa^2 u - f = 2 y + kappa^2 (x^2 y + u*)
  const at::Tensor points = some_points(), x = points.select(1, 0), y = points.select(1, 1);
  const double kappa2 = 4 * std::numbers::pi * std::numbers::pi;
  const at::Tensor solution = at::sin(2 * std::numbers::pi * x) * at::sin(2 * std::numbers::pi * y);
  const at::Tensor expected = 2 * y + kappa2 * (x * x * y + solution);
  EXPECT_LT((Helmholtz{}.residual(x * x * y, 2 * y, points) - expected).abs().max().item<double>(), 1e-12);
}

TEST(Helmholtz, TheSolutionIsZeroOnTheBoundaryAndOneAtItsPeak) {
  Random random(1);
  const at::Tensor edge = to_tensor(boundary_points(random, 40), at::kDouble);
  EXPECT_LT(Helmholtz{}.solution(edge).abs().max().item<double>(), 1e-15);
  EXPECT_DOUBLE_EQ(Helmholtz{}.solution(at::tensor({0.25, 0.25}, at::kDouble).view({1, 2})).item<double>(), 1);
}

TEST(Helmholtz, RelativeError) {
  const at::Tensor solution = at::tensor({3.0, 4.0}, at::kDouble);
  EXPECT_DOUBLE_EQ(relative_l2(solution + at::tensor({0.0, 1.0}, at::kDouble), solution), 0.2);
  EXPECT_DOUBLE_EQ(relative_l2(at::zeros_like(solution), solution), 1);
  EXPECT_DOUBLE_EQ(root_mean_square(solution), std::sqrt(12.5));
}

TEST(Helmholtz, PointsBecomeATensor) {
  const at::Tensor tensor = to_tensor({0.5, 0.25, 1, 0}, at::kFloat);
  EXPECT_EQ(tensor.sizes(), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(tensor[0][1].item<double>(), 0.25);
  EXPECT_EQ(tensor[1][0].item<double>(), 1);
}

}  // namespace
}  // namespace trasmuon::lab
