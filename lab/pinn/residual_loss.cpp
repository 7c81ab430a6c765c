// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/residual_loss.h"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <vector>

#include "lab/pinn/jets.h"

namespace trasmuon::lab {
namespace {

constexpr std::int64_t kBlock = 128;  // points; what a block of 128 units needs for both passes fits a cache of 1 MB

at::Tensor gradient_of(const at::Tensor& parameter) {
  if (!parameter.grad().defined()) parameter.mutable_grad() = at::zeros_like(parameter);
  return parameter.grad();
}

/// Forward and backward pass over blocks of points.
template <class T>
class JetPass {
 public:
  JetPass(const Mlp& mlp, const Helmholtz& problem, const at::Tensor& points)
      : problem_(problem), points_(points.contiguous()) {
    for (const Mlp::Layer& layer : mlp.layers) {
      layers_.push_back({layer.weight.detach(), layer.bias.detach()});
      gradients_.push_back({gradient_of(layer.weight), gradient_of(layer.bias)});
    }
  }

  double run() {
    double loss = 0;
    const std::int64_t count = points_.size(0);
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
      const std::int64_t size = std::min(kBlock, count - begin);
      resize(size);
      loss += block(points_.narrow(0, begin, size));
    }
    return loss;
  }

 private:
  static at::Tensor rows(const at::Tensor& jet) { return jet.view({4 * jet.size(1), jet.size(2)}); }

  void resize(std::int64_t size) {
    if (!h_.empty() && h_.front().size(1) == size) return;
    const std::int64_t width = layers_.front().bias.size(0);
    const auto make = [&] { return at::empty({4, size, width}, points_.options()); };
    const std::size_t hidden = layers_.size() - 1;
    a_.resize(hidden), h_.resize(hidden);
    for (std::size_t i = 0; i < hidden; ++i) {
      h_[i] = make();
      if (i > 0) a_[i] = make();
    }
    g_ = make(), spare_ = make();
  }

  double block(const at::Tensor& points) {
    forward(points);
    const auto& [weight, bias] = layers_.back();
    const at::Tensor w = weight.squeeze(0), value = h_.back()[0], laplacian = h_.back()[3];
    const at::Tensor residual = problem_.residual(at::mv(value, w) + bias, at::mv(laplacian, w), points);

    // The loss is the mean of r^2 / 2, with r = Lap u + kappa^2 u + ...
    const double count = static_cast<double>(points_.size(0)), kappa_squared = problem_.kappa_squared();
    const at::Tensor by_laplacian = residual / count, by_value = by_laplacian * kappa_squared;
    gradients_.back().weight.squeeze(0).addmv_(value.t(), by_value).addmv_(laplacian.t(), by_laplacian);
    gradients_.back().bias.add_(by_value.sum());
    at::Tensor g_value = g_[0], g_laplacian = g_[3];
    at::mul_out(g_value, by_value.unsqueeze(1), w);
    g_.narrow(0, 1, 2).zero_();
    at::mul_out(g_laplacian, by_laplacian.unsqueeze(1), w);
    backward(points);
    return 0.5 * residual.to(at::kDouble).square().sum().template item<double>() / count;
  }

  void forward(const at::Tensor& points) {
    at::Tensor first = h_.front()[0];
    at::addmm_out(first, layers_.front().bias, points, layers_.front().weight.t());
    first.tanh_();
    coordinate_jet(coordinates<const T>(layers_.front()), Jet<T>(h_.front()));
    for (std::size_t i = 1; i < h_.size(); ++i) {
      // A linear layer acts on each component alike: one product for all four.
      at::Tensor a = rows(a_[i]), value = h_[i][0];
      at::mm_out(a, rows(h_[i - 1]), layers_[i].weight.t());
      at::add_out(value, a_[i][0], layers_[i].bias);
      value.tanh_();
      tanh_jet(Jet<const T>(a_[i]), Jet<T>(h_[i]));
    }
  }

  /// Takes the gradient by the last hidden jet in g_.
  void backward(const at::Tensor& points) {
    for (std::size_t i = h_.size() - 1; i > 0; --i) {
      tanh_jet_gradient(Jet<const T>(a_[i]), Jet<const T>(h_[i]), Jet<T>(g_),
                        gradients_[i].bias.template data_ptr<T>());
      gradients_[i].weight.addmm_(rows(g_).t(), rows(h_[i - 1]));
      at::Tensor below = rows(spare_);
      at::mm_out(below, rows(g_), layers_[i].weight);
      std::swap(g_, spare_);
    }
    coordinate_jet_gradient(coordinates<const T>(layers_.front()), points.data_ptr<T>(), Jet<const T>(h_.front()),
                            Jet<const T>(g_), coordinates<T>(gradients_.front()));
  }

  template <class U>
  static CoordinateLayer<U> coordinates(const Mlp::Layer& layer) {
    return {layer.weight.data_ptr<T>(), layer.bias.data_ptr<T>()};
  }

  const Helmholtz& problem_;
  at::Tensor points_;
  std::vector<Mlp::Layer> layers_, gradients_;
  std::vector<at::Tensor> a_, h_;  // jets before and after tanh, by hidden layer; the first needs no a
  at::Tensor g_, spare_;
};

}  // namespace

double add_residual_gradients(const Mlp& mlp, const Helmholtz& problem, const at::Tensor& points) {
  at::NoGradGuard no_grad;
  return points.scalar_type() == at::kFloat ? JetPass<float>(mlp, problem, points).run()
                                            : JetPass<double>(mlp, problem, points).run();
}

double add_residual_gradients_by_autograd(const Mlp& mlp, const Helmholtz& problem, const at::Tensor& points) {
  using torch::autograd::grad;
  const at::Tensor leaf = points.detach().clone().requires_grad_();
  const at::Tensor u = mlp.forward(leaf), ones = at::ones_like(u);
  const at::Tensor slope = grad({u}, {leaf}, {ones}, true, true)[0];
  const at::Tensor uxx = grad({slope.select(1, 0)}, {leaf}, {ones}, true, true)[0].select(1, 0);
  const at::Tensor uyy = grad({slope.select(1, 1)}, {leaf}, {ones}, true, true)[0].select(1, 1);
  const at::Tensor loss = 0.5 * problem.residual(u, uxx + uyy, points).square().mean();
  loss.backward();
  return loss.item<double>();
}

}  // namespace trasmuon::lab
