// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/residual_loss.h"

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

struct Result {
  double loss;
  std::vector<at::Tensor> gradients;
};

template <class AddGradients>
Result result_of(AddGradients add_gradients, const Example& example) {
  Result result{add_gradients(example.mlp, Helmholtz{}, example.points), {}};
  for (const Mlp::Layer& layer : example.mlp.layers) {
    for (const at::Tensor& parameter : {layer.weight, layer.bias}) {
      result.gradients.push_back(parameter.grad().clone());
      parameter.mutable_grad().reset();
    }
  }
  return result;
}

void expect_close(const Result& fast, const Result& reference, double loss, double gradients) {
  EXPECT_NEAR(fast.loss / reference.loss, 1, loss);
  ASSERT_EQ(fast.gradients.size(), reference.gradients.size());
  for (std::size_t i = 0; i < fast.gradients.size(); ++i)
    EXPECT_LT(distance(fast.gradients[i], reference.gradients[i]), gradients) << i;
}

class ResidualLossTest : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, ResidualLossTest,
                         testing::Values(Shape{1, 1, 1}, Shape{5, 1, 3}, Shape{7, 2, 1}, Shape{17, 3, 33},
                                         Shape{33, 4, 5}, Shape{9, 2, 300}),
                         [](const auto& suite) {
                           return "width" + std::to_string(suite.param.width) + "depth" +
                                  std::to_string(suite.param.depth) + "points" + std::to_string(suite.param.points);
                         });

TEST_P(ResidualLossTest, EqualsAutograd) {
  const Example example(GetParam());
  expect_close(result_of(add_residual_gradients, example), result_of(add_residual_gradients_by_autograd, example),
               1e-12, 1e-10);
}

TEST_P(ResidualLossTest, EqualsFiniteDifferences) {
  const Example example(GetParam());
  const Result fast = result_of(add_residual_gradients, example);
  at::NoGradGuard no_grad;
  const auto at_offset = [&](double dx, double dy) {
    return example.mlp.forward(example.points + at::tensor({dx, dy}, at::kDouble));
  };
  const double h = 1e-3;
  const at::Tensor centre = at_offset(0, 0);
  const at::Tensor laplacian =
      (at_offset(h, 0) + at_offset(-h, 0) + at_offset(0, h) + at_offset(0, -h) - 4 * centre) / (h * h);
  const at::Tensor residual = Helmholtz{}.residual(centre, laplacian, example.points);
  EXPECT_NEAR(fast.loss / (0.5 * residual.square().mean().item<double>()), 1, 1e-5);
}

TEST(ResidualLoss, GradientsAreAdded) {
  const Example example({5, 2, 7});
  const Result once = result_of(add_residual_gradients, example);
  add_residual_gradients(example.mlp, Helmholtz{}, example.points);
  const Result twice = result_of(add_residual_gradients, example);
  for (std::size_t i = 0; i < once.gradients.size(); ++i)
    EXPECT_LT(distance(twice.gradients[i], 2 * once.gradients[i]), 1e-14) << i;
}

TEST(ResidualLoss, InSinglePrecisionTheTwoWaysStayClose) {
  const Example example({64, 3, 300}, at::kFloat);
  expect_close(result_of(add_residual_gradients, example), result_of(add_residual_gradients_by_autograd, example), 1e-5,
               1e-4);
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
