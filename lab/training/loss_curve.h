// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace trasmuon::lab {

/// Returns the exponential average over the steps, without the bias of its start: `past` is the weight of the average
/// so far, in [0, 1). A loss that is not finite counts as infinite.
std::vector<double> smoothed(std::span<const double> losses, double past);

/// Returns the first step whose value is at most `target`; NaN if there is none.
double first_step_at(std::span<const double> curve, double target);

/// Returns the mean of the last twentieth of the losses, at least one of them. Not finite if one of them is not.
double late_mean(std::span<const double> losses);

}  // namespace trasmuon::lab
