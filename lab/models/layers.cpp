// SPDX-License-Identifier: Apache-2.0
#include "lab/models/layers.h"

#include <torch/version.h>

namespace trasmuon::lab {

Linear::Linear(std::int64_t in, std::int64_t out, bool with_bias)
    : weight(register_parameter("weight", at::empty({out, in}))) {
  if (with_bias) bias = register_parameter("bias", at::empty({out}));
}

at::Tensor Linear::forward(const at::Tensor& x) const { return at::linear(x, weight, bias); }

Embedding::Embedding(std::int64_t entries, std::int64_t width)
    : weight(register_parameter("weight", at::empty({entries, width}))) {}

at::Tensor Embedding::forward(const at::Tensor& indices) const { return at::embedding(weight, indices); }

LayerNorm::LayerNorm(std::int64_t width, double epsilon)
    : weight(register_parameter("weight", at::empty({width}))),
      bias(register_parameter("bias", at::empty({width}))),
      epsilon_(epsilon) {}

at::Tensor LayerNorm::forward(const at::Tensor& x) const {
  return at::layer_norm(x, weight.sizes(), weight, bias, epsilon_);
}

RmsNorm::RmsNorm(std::int64_t width, double epsilon)
    : weight(register_parameter("weight", at::empty({width}))), epsilon_(epsilon) {}

at::Tensor RmsNorm::forward(const at::Tensor& x) const {
  const at::Tensor wide = x.to(at::promote_types(x.scalar_type(), at::kFloat));
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)  // one kernel
  return at::rms_norm(wide, weight.sizes(), weight.to(wide.scalar_type()), epsilon_);
#else
  return wide * at::rsqrt(wide.square().mean(-1, true) + epsilon_) * weight;
#endif
}

}  // namespace trasmuon::lab
