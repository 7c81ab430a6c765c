// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace trasmuon {

/// What one step did to one matrix. Fields that a rule does not have keep their
/// neutral value (r = 0, c = 1).
struct Diagnostics {
  std::int64_t step = 0;      ///< t after the step
  std::int64_t skipped = 0;   ///< steps skipped so far for non-finite gradients
  bool updated = false;       ///< false: no gradient, or the step was skipped
  double r_max = 0;           ///< largest column energy over the reference
  double r_q95 = 0;           ///< its 95 % quantile over the columns
  double c_min = 1;           ///< smallest damping applied
  double c_mean = 1;          ///< mean damping applied
  double damped_share = 0;    ///< share of columns with c < 0.999
  double update_rms = 0;      ///< ||dW||_F / sqrt(mn), decay excluded
  double eta_hat = 0;         ///< calibrated step size
  double isometry_error = 0;  ///< ||O O^T - I||_F / sqrt(min(m, n)): RMS of sigma^2 - 1
};

}  // namespace trasmuon
