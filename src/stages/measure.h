// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "stages/formulas.h"
#include "trasmuon/diagnostics.h"

// Diagnostics from vectors in host memory: the same numbers on every device.
namespace trasmuon {

/// NaN has no order, so selecting or sorting among NaN is undefined. Only without skip_nonfinite does NaN get this far.
inline bool has_nan(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
}

/// Returns the linearly interpolated 95 % quantile; sorts `values`.
inline double quantile95(std::span<double> values) {
  if (has_nan(values)) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const double position = 0.95 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

/// Takes the energy ratios r_j of a step; sorts them.
inline void measure_ratios(std::span<double> ratios, Diagnostics& d) {
  d.r_max = *std::max_element(ratios.begin(), ratios.end());
  d.r_q95 = quantile95(ratios);
}

template <class T>
void measure_damping(std::span<const T> c, Diagnostics& d) {
  double sum = 0;
  std::size_t damped = 0;
  for (T value : c) {
    sum += static_cast<double>(value);
    damped += static_cast<double>(value) < 0.999;
  }
  d.c_min = static_cast<double>(*std::min_element(c.begin(), c.end()));
  d.c_mean = sum / static_cast<double>(c.size());
  d.damped_share = static_cast<double>(damped) / static_cast<double>(c.size());
}

}  // namespace trasmuon
