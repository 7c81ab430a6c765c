// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Parallel.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <memory>
#include <vector>

#include "trasmuon/libtorch.h"

namespace trasmuon::libtorch {

// The tensors are tiny, and threads of OpenMP that spin make a busy machine slow.
inline const bool kOneThread = (at::set_num_threads(1), true);

/// Two hidden layers and a head, without the cost of torch/nn.h.
struct Net : torch::nn::Module {
  explicit Net(torch::ScalarType type = torch::kFloat32, std::int64_t seed = 1) {
    torch::manual_seed(static_cast<std::uint64_t>(seed));
    const auto normal = [&](at::IntArrayRef sizes) { return (0.4 * torch::randn(sizes, torch::kFloat64)).to(type); };
    up = register_parameter("up_weight", normal({12, 6}));
    up_bias = register_parameter("up_bias", normal({12}));
    down = register_parameter("down_weight", normal({9, 12}));
    gain = register_parameter("gain", torch::ones({}, type));
    head = register_parameter("head", normal({1, 9}));
  }

  torch::Tensor forward(const torch::Tensor& x) const {
    const torch::Tensor hidden = (x.matmul(up.t()) + up_bias).tanh();
    return gain * (hidden.matmul(down.t())).tanh().matmul(head.t());
  }

  /// Distance from sin of the row sums, over a fixed batch.
  torch::Tensor loss() const {
    const auto x = torch::linspace(-2, 2, 32 * 6, torch::kFloat64).reshape({6, 32}).t().to(up.options());
    return (forward(x) - x.sum(1, true).sin()).square().mean();
  }

  void backward() {
    for (torch::Tensor& parameter : parameters()) parameter.mutable_grad() = torch::Tensor();
    loss().backward();
  }

  torch::Tensor up, up_bias, down, gain, head;
};

inline std::vector<torch::Tensor> copies(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> list;
  for (const torch::Tensor& tensor : tensors) list.push_back(tensor.detach().clone());
  return list;
}

inline bool same_bits(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].detach().equal(b[i].detach())) return false;
  }
  return true;
}

inline const std::vector<Options>& all_rules() {
  static const std::vector<Options> rules{TrasMuonOptions{.lr = 0.01}, NorMuonOptions{}, MuonOptions{}, DionOptions{},
                                          AdamWOptions{}};
  return rules;
}

}  // namespace trasmuon::libtorch
