// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/report/event_numbers.h"

#include <cmath>
#include <limits>

#include "lab/pinn/events.h"
#include "lab/report/figures/curves.h"
#include "lab/report/statistics/stats.h"

namespace trasmuon::lab {
namespace {

/// The losses by step; a run that ended early has diverged.
std::vector<double> losses_of(const Columns& metrics) {
  std::vector<double> losses = metrics["loss"];
  for (double& loss : losses)
    if (!std::isfinite(loss)) loss = std::numeric_limits<double>::infinity();
  return losses;
}

void add_spikes(const Columns& events, const std::vector<double>& losses, int period, bool has_events, Json& summary) {
  double spikes = 0, recovered = 0, steps = 0;
  for (std::size_t row = 0; row < events["step"].size(); ++row) {
    const EventPeak peak{.step = static_cast<int>(events["step"][row]),
                         .baseline = events["baseline"][row],
                         .peak_step = static_cast<int>(events["peak_step"][row]),
                         .ratio = events["peak_ratio"][row]};
    if (!is_spike(peak.ratio)) continue;
    ++spikes;
    const double recovery = recovery_steps(losses, peak, period);
    if (std::isnan(recovery)) continue;
    ++recovered;
    steps += recovery;
  }
  summary["spikes"] = spikes;
  if (!has_events || spikes == 0) return;
  summary["recovered_share"] = recovered / spikes;
  if (recovered > 0) summary["recovery_steps"] = steps / recovered;
}

void add_loss(const std::vector<double>& losses, int first, int period, int steps, Json& summary) {
  std::vector<double> uniform;
  for (int t = first; t < static_cast<int>(losses.size()); ++t)
    if (!is_event_step(t, first, period)) uniform.push_back(losses[static_cast<std::size_t>(t)]);
  const bool diverged = static_cast<int>(losses.size()) < steps;
  if (diverged) summary["loss_after"] = std::numeric_limits<double>::infinity();
  else if (!uniform.empty()) summary["loss_after"] = quantile(uniform, 0.5);
}

void add_numbers(RunRecord& run) {
  const Json& settings = run.spec.settings;
  const double target = settings.value("update_rms", 0.0), size = run.value("step_size");
  if (target > 0 && !std::isnan(size)) run.summary["fit_miss"] = size / target - 1;
  const auto events = read_table(run, "events"), metrics = read_table(run, "metrics");
  if (!events || !metrics) return;
  const std::vector<double> losses = losses_of(*metrics);
  const int first = settings.at("first_event"), period = settings.at("event_period");
  add_spikes(*events, losses, period, settings.at("events"), run.summary);
  add_loss(losses, first, period, settings.at("steps"), run.summary);
}

}  // namespace

RunSet with_event_numbers(RunSet runs) {
  for (SeedGroup& group : runs.groups)
    for (RunRecord& run : group.runs) add_numbers(run);
  return runs;
}

}  // namespace trasmuon::lab
