// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "stages/stages.h"
#include "trasmuon/diagnostics.h"

// Diagnostics from vectors in host memory: the same numbers on every device.
namespace trasmuon {

/// NaN has no order: selecting or sorting among it is undefined. Only literal mode lets it come this far.
inline bool has_nan(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
}

/// What the column energies of a step are measured against.
struct EnergyReference {
  const TrustRegionStage& stage;
  double value;  ///< E_ref, bias-corrected when guarded
  bool dead;     ///< guard (e): no energy to compare with

  EnergyReference(const TrustRegionStage& settings, double reference, std::span<const double> energies)
      : stage(settings),
        value(reference),
        // Relative to the largest energy, so that the gradient's scale plays no part.
        dead(settings.guarded &&
             !(reference > settings.eps_energy * *std::max_element(energies.begin(), energies.end()))) {}

  double ratio(double energy) const {
    if (!stage.guarded) return energy / (value + stage.eps);
    return dead ? energy / (value + stage.eps_energy) : energy / value;
  }
};

/// Linearly interpolated 95 % quantile; sorts.
inline double quantile95(std::vector<double>& values) {
  if (has_nan(values)) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const double position = 0.95 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

inline void report_ratios(const EnergyReference& reference, std::span<const double> energies, Diagnostics& d) {
  std::vector<double> ratios;
  ratios.reserve(energies.size());
  for (double energy : energies) ratios.push_back(reference.ratio(energy));
  d.r_max = *std::max_element(ratios.begin(), ratios.end());
  d.r_q95 = quantile95(ratios);
}

template <class T>
void report_damping(std::span<const T> c, Diagnostics& d) {
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
