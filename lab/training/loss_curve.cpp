// SPDX-License-Identifier: Apache-2.0
#include "lab/training/loss_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace trasmuon::lab {

std::vector<double> smoothed(std::span<const double> losses, double past) {
  std::vector<double> curve;
  double sum = 0, weight = 0;
  for (const double loss : losses) {
    sum = past * sum + (std::isfinite(loss) ? loss : std::numeric_limits<double>::infinity());
    weight = past * weight + 1;
    curve.push_back(sum / weight);
  }
  return curve;
}

double first_step_at(std::span<const double> curve, double target) {
  const auto found = std::find_if(curve.begin(), curve.end(), [&](double value) { return value <= target; });
  return found == curve.end() ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(found - curve.begin());
}

double late_mean(std::span<const double> losses) {
  const auto late = losses.last(std::min(losses.size(), std::max<std::size_t>(1, losses.size() / 20)));
  return std::accumulate(late.begin(), late.end(), 0.0) / static_cast<double>(late.size());
}

}  // namespace trasmuon::lab
