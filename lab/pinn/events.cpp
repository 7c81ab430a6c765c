// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace trasmuon::lab {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double median(std::vector<double> values) {
  if (values.empty()) return kNone;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double finite_or_infinite(double loss) { return std::isfinite(loss) ? loss : std::numeric_limits<double>::infinity(); }

}  // namespace

bool is_event_step(int step, int first_event, int event_period) {
  return step >= first_event && (step - first_event) % event_period == 0;
}

std::vector<EventPeak> find_peaks(std::span<const double> losses, int first_event, int event_period) {
  const int steps = static_cast<int>(losses.size());
  std::vector<EventPeak> peaks;
  for (int event = first_event; event + 1 < steps; event += event_period) {
    std::vector<double> before;
    for (int t = std::max(0, event - event_period); t < event; ++t) {
      if (!is_event_step(t, first_event, event_period)) before.push_back(finite_or_infinite(losses[t]));
    }
    EventPeak peak{.step = event, .baseline = median(before), .peak_step = event + 1};
    for (int t = event + 1; t < std::min(event + event_period, steps); ++t) {
      if (finite_or_infinite(losses[t]) > finite_or_infinite(losses[peak.peak_step])) peak.peak_step = t;
    }
    peak.ratio = finite_or_infinite(losses[peak.peak_step]) / peak.baseline;
    peaks.push_back(peak);
  }
  return peaks;
}

std::string spike_rule() {
  return fmt::format(
      "An event is a spike if the largest loss of the uniform steps until the next event is more than {:g} times the "
      "median of the uniform losses of the period before it. The spike has recovered at the first later loss of at "
      "most "
      "{:g} times that median; if the next event comes first, it has not. No spike, no recovery time.",
      kSpikeRatio, kRecoveredRatio);
}

double recovery_steps(std::span<const double> losses, const EventPeak& peak, int event_period) {
  const int end = std::min(peak.step + event_period, static_cast<int>(losses.size()));
  for (int t = peak.peak_step + 1; t < end; ++t) {
    if (losses[t] <= kRecoveredRatio * peak.baseline) return t - peak.step;
  }
  return kNone;
}

double loss_volatility(std::span<const double> losses, int begin, int end, int first_event, int event_period) {
  std::vector<double> uniform, changes;
  for (int t = begin; t < std::min(end, static_cast<int>(losses.size())); ++t) {
    if (!is_event_step(t, first_event, event_period)) uniform.push_back(std::log(losses[t]));
  }
  for (std::size_t i = 1; i < uniform.size(); ++i) changes.push_back(uniform[i] - uniform[i - 1]);
  if (changes.size() < 2) return kNone;
  double mean = 0, squares = 0;
  for (const double change : changes) mean += change / static_cast<double>(changes.size());
  for (const double change : changes) squares += (change - mean) * (change - mean);
  return std::sqrt(squares / static_cast<double>(changes.size()));
}

}  // namespace trasmuon::lab
