// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/stationarity.h"

#include <algorithm>
#include <cstddef>

namespace trasmuon::lab {

void Stationarity::observe(std::span<const double> gradient, std::span<const double> before,
                           std::span<const double> after) {
  double squared = 0, slope = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    squared += gradient[i] * gradient[i];
    slope += gradient[i] * (after[i] - before[i]);
  }
  ++steps_;
  squares_ += squared;
  size_ = static_cast<double>(gradient.size());
  if (squared == 0) return;  // any mu fits
  misaligned_ += slope >= 0;
  steepness_ = std::min(steepness_, -slope / squared);
}

double Stationarity::bound(double first_loss_above_minimum, double smoothness) const {
  if (!(mu() > 0)) return std::numeric_limits<double>::quiet_NaN();
  return first_loss_above_minimum / (mu() * eta_ * steps_) + smoothness * eta_ * size_ / (2 * mu());
}

}  // namespace trasmuon::lab
