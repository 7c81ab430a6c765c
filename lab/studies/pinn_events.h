// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

// How a loss takes the events of the PINN study. An event's own loss is over other points than its neighbours', so only
// the uniform steps are judged: from one event to the next, against the uniform steps of the period before.
namespace trasmuon::lab {

/// Twice the loss before is more than a loss without events does by itself (docs/lab-pinn.md).
inline constexpr double kSpikeRatio = 2, kRecoveredRatio = 1.1;

struct EventOutcome {
  int step = 0;
  double peak_ratio = 0;  ///< largest loss after the event over the median loss before it
  double recovery_steps =
      0;  ///< from the event to the first loss at most kRecoveredRatio times that median, at or
          ///< after the peak; 0 when the peak is none; NaN when the next event (or the end) is first
  bool spike() const { return peak_ratio > kSpikeRatio; }
  bool valid() const { return recovery_steps == recovery_steps; }
};

/// One per event with a uniform step after it. losses[t] is the loss of step t; one that is not finite counts as
/// infinite.
std::vector<EventOutcome> judge_events(std::span<const double> losses, int first_event, int event_period);

/// Standard deviation of ln(loss / loss before) over the uniform steps of [begin, end): a trend hardly counts. NaN when
/// there are fewer than three.
double loss_volatility(std::span<const double> losses, int begin, int end, int first_event, int event_period);

bool is_event_step(int step, int first_event, int event_period);

}  // namespace trasmuon::lab
