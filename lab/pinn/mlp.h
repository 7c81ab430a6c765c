// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <functional>
#include <vector>

namespace trasmuon::lab {

/// A fully connected network from two coordinates to one value, tanh between its layers.
class Mlp {
 public:
  struct Layer {
    at::Tensor weight, bias;  ///< [out, in] and [out], leaves that require gradients
  };

  /// `depth` hidden layers of `width`. Xavier uniform initialization, zero biases. `uniform` draws from [0, 1), so
  /// that the initialization does not depend on LibTorch's generator.
  Mlp(int width, int depth, at::ScalarType dtype, const std::function<double()>& uniform);

  at::Tensor forward(const at::Tensor& points) const;  ///< [n, 2] -> [n]

  std::vector<Layer> layers;
};

}  // namespace trasmuon::lab
