// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/laplacian.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "lab/study/random.h"

namespace trasmuon::lab {
namespace {

struct Shape {
  int width, depth, points;
};

/// A network whose biases are not zero, and points in and around the unit square.
struct Example {
  explicit Example(const Shape& shape, at::ScalarType dtype = at::kDouble)
      : mlp(shape.width, shape.depth, dtype, [this] { return random.uniform(); }),
        points(at::empty({shape.points, 2}, at::kDouble)) {
    at::NoGradGuard no_grad;
    for (const Mlp::Layer& layer : mlp.layers) fill(layer.bias);
    fill(points);
    points = points.to(dtype);
  }

  void fill(const at::Tensor& tensor) {
    const at::Tensor values = at::empty(tensor.sizes(), at::kDouble);
    for (std::int64_t i = 0; i < values.numel(); ++i) values.data_ptr<double>()[i] = 2 * random.uniform() - 0.5;
    tensor.copy_(values);
  }

  Random random{7};
  Mlp mlp;
  at::Tensor points;
};

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>() / b.abs().max().item<double>();
}

/// Some loss that depends on both outputs, unevenly over the points.
std::vector<at::Tensor> gradients(const Mlp& mlp, const ValueAndLaplacian& out) {
  const at::Tensor weights = at::arange(1, out.value.numel() + 1, out.value.options());
  (weights * (3 * out.value + out.laplacian).square()).sum().backward();
  std::vector<at::Tensor> result;
  for (const Mlp::Layer& layer : mlp.layers) {
    for (at::Tensor parameter : {layer.weight, layer.bias}) {
      result.push_back(parameter.grad().clone());
      parameter.grad().zero_();
    }
  }
  return result;
}

class LaplacianTest : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, LaplacianTest,
                         testing::Values(Shape{1, 1, 1}, Shape{5, 1, 3}, Shape{7, 2, 1}, Shape{17, 3, 33},
                                         Shape{33, 4, 5}),
                         [](const auto& suite) {
                           return "width" + std::to_string(suite.param.width) + "depth" +
                                  std::to_string(suite.param.depth);
                         });

TEST_P(LaplacianTest, ForwardEqualsDoubleBackward) {
  const Example example(GetParam());
  const ValueAndLaplacian fast = forward_laplacian(example.mlp, example.points);
  const ValueAndLaplacian reference = double_backward_laplacian(example.mlp, example.points);
  EXPECT_EQ(fast.value.sizes(), reference.value.sizes());
  EXPECT_EQ(fast.laplacian.sizes(), reference.laplacian.sizes());
  EXPECT_LT(distance(fast.value, reference.value), 1e-12);
  EXPECT_LT(distance(fast.laplacian, reference.laplacian), 1e-12);

  const auto by_forward = gradients(example.mlp, fast), by_double = gradients(example.mlp, reference);
  for (std::size_t i = 0; i < by_forward.size(); ++i) EXPECT_LT(distance(by_forward[i], by_double[i]), 1e-10) << i;
}

TEST_P(LaplacianTest, EqualsFiniteDifferences) {
  at::NoGradGuard no_grad;
  const Example example(GetParam());
  const auto at_offset = [&](double dx, double dy) {
    return example.mlp.forward(example.points + at::tensor({dx, dy}, at::kDouble));
  };
  const double h = 1e-3;
  const at::Tensor centre = at_offset(0, 0);
  const at::Tensor differences =
      (at_offset(h, 0) + at_offset(-h, 0) + at_offset(0, h) + at_offset(0, -h) - 4 * centre) / (h * h);
  const ValueAndLaplacian fast = forward_laplacian(example.mlp, example.points);
  EXPECT_LT(distance(fast.value, centre), 1e-12);
  EXPECT_LT(distance(differences, fast.laplacian), 1e-5);
}

TEST(Laplacian, InSinglePrecisionTheTwoWaysStayClose) {
  const Example example({64, 3, 100}, at::kFloat);
  const ValueAndLaplacian fast = forward_laplacian(example.mlp, example.points);
  const ValueAndLaplacian reference = double_backward_laplacian(example.mlp, example.points);
  EXPECT_EQ(fast.laplacian.scalar_type(), at::kFloat);
  EXPECT_LT(distance(fast.laplacian, reference.laplacian), 1e-5);
  const auto by_forward = gradients(example.mlp, fast), by_double = gradients(example.mlp, reference);
  for (std::size_t i = 0; i < by_forward.size(); ++i) EXPECT_LT(distance(by_forward[i], by_double[i]), 1e-4) << i;
}

TEST(Mlp, StartsWithinXaviersLimits) {
  const Example example({50, 2, 1});
  ASSERT_EQ(example.mlp.layers.size(), 3u);
  Random random(7);
  const Mlp fresh(50, 2, at::kDouble, [&] { return random.uniform(); });
  for (const Mlp::Layer& layer : fresh.layers) {
    const double limit = std::sqrt(6.0 / static_cast<double>(layer.weight.size(0) + layer.weight.size(1)));
    EXPECT_LE(layer.weight.abs().max().item<double>(), limit);
    EXPECT_GT(layer.weight.abs().max().item<double>(), 0.9 * limit);
    EXPECT_EQ(layer.bias.abs().max().item<double>(), 0);
  }
}

}  // namespace
}  // namespace trasmuon::lab
