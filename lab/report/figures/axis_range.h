// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "lab/report/figures/figure.h"

namespace trasmuon::lab {

struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void include(double value, bool log);  ///< unless it is not finite, or not positive on a logarithmic axis
  bool empty() const { return low > high; }
};

Extent x_range(const Panel& panel);

/// What the y axis shows: everything but outliers, which would flatten the rest. An outlier is a box whose median is
/// more than three interquartile ranges away from those of the panel's boxes, or a single value or end of a band
/// farther from the medians or quartiles than these are from each other.
Extent y_range(const Panel& panel);

/// Whether y_range() leaves the box out.
bool is_outlier(const Panel& panel, const Box& box);

}  // namespace trasmuon::lab
