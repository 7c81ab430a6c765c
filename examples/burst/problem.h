// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace burst {

constexpr int kDim = 64;              // d
constexpr int kBurstPeriod = 10;      // K_out, steps from burst to burst
constexpr double kBurstFactor = 1e3;  // a

/// f(W) = 1/2 ||A W B - T||_F^2 with d x d matrices, row-major: A = U S_A U^T for a random
/// rotation U, B diagonal, so that columns of W keep their meaning (the paper's fix_V = True).
/// Both spectra run from 1 to 100. T = A W* B with a Gaussian W*, so the minimum is 0 and
/// f = 1/2 ||A (W - W*) B||_F^2.
class Problem {
 public:
  Problem(std::uint64_t seed, int steps);

  /// f(W); writes its gradient in place.
  double evaluate(std::span<const double> w, std::span<double> gradient) const;

  /// The column that a burst at or next to this step (1-based) hits: the bursts fall on
  /// the multiples of kBurstPeriod, and each step belongs to the nearest one.
  int burst_column(int step) const { return burst_columns_[nearest_burst(step)]; }
  static int nearest_burst(int step) { return (step + kBurstPeriod / 2 - 1) / kBurstPeriod; }
  static bool is_burst(int step) { return step > 0 && step % kBurstPeriod == 0; }

 private:
  std::vector<double> a_squared_, b_squared_, solution_;  // A^2, the diagonal of B^2, W*
  std::vector<int> burst_columns_;
};

}  // namespace burst
