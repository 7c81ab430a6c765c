// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

// How the loss responds to the events of the PINN study. The loss of an event is taken at other points than that of the
// steps around it, so only the uniform steps are judged: those until the next event, against those of the period
// before. A run stores the peaks; what counts as a spike or as recovered is decided when the report is made.
namespace trasmuon::lab {

bool is_event_step(int step, int first_event, int event_period);

/// What a run stores of an event.
struct EventPeak {
  int step = 0;
  double baseline = 0;  ///< median of the uniform losses of the period before the event
  int peak_step = 0;    ///< uniform step with the largest loss until the next event
  double ratio = 0;     ///< that loss / baseline
};

/// One per event with a uniform step after it. losses[t] is the loss of step t; a loss that is not finite counts as
/// infinite.
std::vector<EventPeak> find_peaks(std::span<const double> losses, int first_event, int event_period);

// The one rule of the study: reports and docs/lab-pinn.md use these numbers and this sentence.
// Without events the loss rarely exceeds three times its median (report, part no-events).
inline constexpr double kSpikeRatio = 3, kRecoveredRatio = 1.1;
inline bool is_spike(double ratio) { return ratio > kSpikeRatio; }
std::string spike_rule();

/// Steps from the event until the loss, after the peak, is at most kRecoveredRatio times the baseline. NaN if the next
/// event or the end comes first.
double recovery_steps(std::span<const double> losses, const EventPeak& peak, int event_period);

/// Standard deviation of ln(loss / loss before) over the uniform steps of [begin, end), so that a trend hardly
/// matters. NaN if there are fewer than three.
double loss_volatility(std::span<const double> losses, int begin, int end, int first_event, int event_period);

}  // namespace trasmuon::lab
