// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "trasmuon/options.h"

namespace trasmuon::bench {

/// TrasMuon written with LibTorch operations in the plain way: one matrix after the other,
/// dense products, no custom operations. The peer of bench_step.
class LibTorchTrasMuon {
 public:
  LibTorchTrasMuon(std::vector<torch::Tensor> weights, const TrasMuonOptions& options);
  void step(const std::vector<torch::Tensor>& gradients);

 private:
  struct State {
    torch::Tensor momentum, v_row, c_ema, c_last, c_sum;
    double e_ref = 0;
    double gamma_sum = 0;
    std::int64_t t = 0;
  };
  void step_matrix(torch::Tensor& weight, const torch::Tensor& gradient, State& state) const;
  /// Returns the damping of each column, c_j, from the energies E_j.
  torch::Tensor trust_region(const torch::Tensor& energy, State& state, bool large_enough) const;

  TrasMuonOptions options_;
  std::vector<torch::Tensor> weights_;
  std::vector<State> states_;
};

}  // namespace trasmuon::bench
