// SPDX-License-Identifier: Apache-2.0
#include "lab/study/spikes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace trasmuon::lab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

Spikes find_spikes(std::span<const double> losses, const SpikeRule& rule) {
  std::vector<double> finite_or_infinite(losses.begin(), losses.end());
  for (double& loss : finite_or_infinite) {
    if (!std::isfinite(loss)) loss = kInfinity;
  }

  Spikes spikes;
  bool inside = false;
  for (std::size_t t = rule.window; t < losses.size(); ++t) {
    const auto here = finite_or_infinite.begin() + static_cast<std::ptrdiff_t>(t);
    const double before = median({here - static_cast<std::ptrdiff_t>(rule.window), here});
    const double ratio = *here == kInfinity ? kInfinity : *here / before;
    spikes.peak = std::max(spikes.peak, ratio);
    const bool above = ratio > rule.threshold;
    if (above && !inside) ++spikes.count;
    inside = above;
  }
  return spikes;
}

}  // namespace trasmuon::lab
