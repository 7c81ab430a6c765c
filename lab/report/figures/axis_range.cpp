// SPDX-License-Identifier: Apache-2.0
#include "lab/report/figures/axis_range.h"

#include <algorithm>
#include <cmath>

#include "lab/report/statistics/stats.h"

namespace trasmuon::lab {

namespace {

constexpr std::size_t kFewBoxes = 4;  // too few to tell which one is the outlier
constexpr double kFence = 3;          // interquartile ranges

bool usable(double value, bool log) { return std::isfinite(value) && !(log && value <= 0); }
double on_axis(double value, bool log) { return log ? std::log(value) : value; }
double off_axis(double value, bool log) { return log ? std::exp(value) : value; }

/// Includes the values that are no farther from the core than its own length.
void include_near(Extent& range, const Extent& core, const std::vector<double>& values, bool log) {
  if (core.empty()) return;
  const double low = on_axis(core.low, log), high = on_axis(core.high, log), length = high - low;
  const Extent window = length > 0 ? Extent{off_axis(low - length, log), off_axis(high + length, log)} : Extent();
  for (const double value : values)
    if (window.empty() || (value >= window.low && value <= window.high)) range.include(value, log);
}

/// Limits for the medians of a panel's boxes; none if there are too few.
Extent fence(const Panel& panel) {
  std::vector<double> medians;
  for (const Box& box : panel.boxes) {
    const double median = quantile(box.values, 0.5);
    if (usable(median, panel.log_y)) medians.push_back(on_axis(median, panel.log_y));
  }
  if (medians.size() < kFewBoxes) return {};
  const double low = quantile(medians, 0.25), high = quantile(medians, 0.75);
  // Medians that are nearly the same must not make outliers of their neighbours.
  const double least = panel.log_y ? std::log(2.0) : 0.5 * std::abs(quantile(medians, 0.5));
  const double margin = kFence * std::max(high - low, least);
  return {off_axis(low - margin, panel.log_y), off_axis(high + margin, panel.log_y)};
}

}  // namespace

void Extent::include(double value, bool log) {
  if (!usable(value, log)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

Extent x_range(const Panel& panel) {
  Extent range;
  for (const Line& line : panel.lines)
    for (const double x : line.x) range.include(x, panel.log_x);
  return range;
}

bool is_outlier(const Panel& panel, const Box& box) {
  const Extent limits = fence(panel);
  const double median = quantile(box.values, 0.5);
  return !limits.empty() && usable(median, panel.log_y) && (median < limits.low || median > limits.high);
}

Extent y_range(const Panel& panel) {
  const bool log = panel.log_y;
  Extent core;
  for (const Line& line : panel.lines)
    for (const double y : line.y) core.include(y, log);
  std::vector<const Box*> boxes;
  for (const Box& box : panel.boxes)
    if (!is_outlier(panel, box)) boxes.push_back(&box);
  for (const Box* box : boxes)
    for (const double p : {0.25, 0.75}) core.include(quantile(box->values, p), log);
  if (panel.band) {
    core.include(panel.band->low, log);
    core.include(panel.band->high, log);
  }
  Extent range = core;
  for (const Line& line : panel.lines) {
    include_near(range, core, line.low, log);
    include_near(range, core, line.high, log);
  }
  for (const Box* box : boxes) include_near(range, core, box->values, log);
  return range;
}

}  // namespace trasmuon::lab
