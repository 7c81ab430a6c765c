// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/mlp.h"

#include <cmath>

namespace trasmuon::lab {

Mlp::Mlp(int width, int depth, at::ScalarType dtype, const std::function<double()>& uniform) {
  for (int i = 0; i <= depth; ++i) {
    const int in = i == 0 ? 2 : width, out = i == depth ? 1 : width;
    const double limit = std::sqrt(6.0 / (in + out));
    at::Tensor weight = at::empty({out, in}, at::kDouble);
    double* values = weight.data_ptr<double>();
    for (int j = 0; j < out * in; ++j) values[j] = limit * (2 * uniform() - 1);
    layers.push_back({weight.to(dtype).requires_grad_(), at::zeros({out}, dtype).requires_grad_()});
  }
}

at::Tensor Mlp::forward(const at::Tensor& points) const {
  at::Tensor h = points;
  for (const Layer& layer : layers) {
    if (&layer != &layers.front()) h = at::tanh(h);
    h = at::addmm(layer.bias, h, layer.weight.t());
  }
  return h.squeeze(1);
}

}  // namespace trasmuon::lab
