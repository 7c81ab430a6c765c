// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace trasmuon {

/// Describes what one step did to one matrix. Fields that a rule does not have keep their
/// neutral value (r = 0, c = 1).
struct Diagnostics {
  std::int64_t step = 0;      ///< t after this step
  std::int64_t skipped = 0;   ///< steps skipped so far for non-finite gradients
  bool updated = false;       ///< false: no gradient, or the step was skipped
  double r_max = 0;           ///< largest ratio of a column's energy to the reference
  double r_q95 = 0;           ///< 95 % quantile of this ratio over the columns
  double c_min = 1;           ///< smallest damping factor of a column
  double c_mean = 1;          ///< mean damping factor
  double damped_share = 0;    ///< share of columns with c < 0.999
  double update_rms = 0;      ///< ||dW||_F / sqrt(mn), without weight decay
  double eta_hat = 0;         ///< calibrated step size
  double isometry_error = 0;  ///< ||O O^T - I||_F / sqrt(min(m, n)): RMS of sigma^2 - 1
};

}  // namespace trasmuon
