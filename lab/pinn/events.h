// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

// How the loss responds to the events of the PINN study. The loss of an event is taken at other points than that of the
// steps around it, so only the uniform steps are judged: those until the next event, against those of the period
// before.
namespace trasmuon::lab {

/// Without events the loss rarely doubles (docs/lab-pinn.md), so doubling counts as a spike.
inline constexpr double kSpikeRatio = 2, kRecoveredRatio = 1.1;

struct EventOutcome {
  int step = 0;
  double peak_ratio = 0;  ///< largest loss after the event / median loss before it
  /// Steps from the event until the loss, at or after the peak, is at most kRecoveredRatio times that median. 0 if the
  /// peak never exceeds it; NaN if the next event (or the end) comes first.
  double recovery_steps = 0;
  bool spike() const { return peak_ratio > kSpikeRatio; }
  bool valid() const { return recovery_steps == recovery_steps; }
};

/// One per event with a uniform step after it. losses[t] is the loss of step t; a loss that is not finite
/// counts as infinite.
std::vector<EventOutcome> judge_events(std::span<const double> losses, int first_event, int event_period);

/// Standard deviation of ln(loss / loss before) over the uniform steps of [begin, end), so that a trend hardly
/// matters. NaN if there are fewer than three.
double loss_volatility(std::span<const double> losses, int begin, int end, int first_event, int event_period);

bool is_event_step(int step, int first_event, int event_period);

}  // namespace trasmuon::lab
