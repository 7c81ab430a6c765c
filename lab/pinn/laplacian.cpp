// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/laplacian.h"

#include <torch/csrc/autograd/autograd.h>

#include "lab/pinn/tanh_jet.h"

namespace trasmuon::lab {

ValueAndLaplacian forward_laplacian(const Mlp& mlp, const at::Tensor& points) {
  const std::int64_t count = points.size(0);
  at::Tensor h = at::zeros({4, count, 2}, points.options());  // the jet of (x, y) itself
  h[0].copy_(points);
  h[1].select(1, 0).fill_(1);
  h[2].select(1, 1).fill_(1);
  for (std::size_t i = 0; i + 1 < mlp.layers.size(); ++i) {
    const auto& [weight, bias] = mlp.layers[i];
    // A linear layer acts on each component alike: one product for all four.
    h = tanh_jet(at::mm(h.view({4 * count, -1}), weight.t()).view({4, count, -1}), bias);
  }
  const auto& [weight, bias] = mlp.layers.back();
  const at::Tensor u = at::mv(h.view({4 * count, -1}), weight.squeeze(0)).view({4, count});
  return {u[0] + bias, u[3]};
}

ValueAndLaplacian double_backward_laplacian(const Mlp& mlp, const at::Tensor& points) {
  using torch::autograd::grad;
  const at::Tensor leaf = points.detach().clone().requires_grad_();
  const at::Tensor u = mlp.forward(leaf), ones = at::ones_like(u);
  const at::Tensor slope = grad({u}, {leaf}, {ones}, true, true)[0];
  const at::Tensor uxx = grad({slope.select(1, 0)}, {leaf}, {ones}, true, true)[0].select(1, 0);
  const at::Tensor uyy = grad({slope.select(1, 1)}, {leaf}, {ones}, true, true)[0].select(1, 1);
  return {u, uxx + uyy};
}

}  // namespace trasmuon::lab
