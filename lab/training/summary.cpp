// SPDX-License-Identifier: Apache-2.0
#include "lab/training/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "lab/records/run_record.h"
#include "lab/study/spikes.h"
#include "lab/training/loss_curve.h"

namespace trasmuon::lab {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// The paper's hypothesis is about bursts in training as such, not about its first steps.
constexpr double kSettled = 100;

/// The values of a column in the steps for which `keep` holds, without empty cells.
template <class Keep>
std::vector<double> values_where(const Columns& table, std::string_view name, Keep keep) {
  std::vector<double> kept;
  for (std::size_t i = 0; i < table["step"].size(); ++i) {
    if (keep(i) && !std::isnan(table[name][i])) kept.push_back(table[name][i]);
  }
  return kept;
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return kNone;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  if (values.empty()) return kNone;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void add_losses(Json& summary, const Columns& metrics, const TrainingSettings& settings) {
  const std::vector<double>& losses = metrics["loss"];
  const bool diverged = !std::isfinite(losses.back());
  const Spikes spikes = find_spikes(losses, {.threshold = settings.spike_ratio});
  summary["final_loss"] = diverged ? kInfinity : late_mean(losses);
  summary["spikes"] = spikes.count;
  summary["spike_peak"] = spikes.peak;
  summary["steps_done"] = losses.size();
  summary["steps_to_target"] = first_step_at(smoothed(losses, settings.smoothing), settings.target_loss);
}

void add_evaluations(Json& summary, const Columns& evaluations, bool diverged) {
  for (std::size_t i = 1; i < evaluations.names.size(); ++i) {
    std::vector<double> values = evaluations.values[i];
    for (double& value : values) value = std::isfinite(value) ? value : kInfinity;
    summary["final_" + evaluations.names[i]] = diverged ? kInfinity : values.back();
    summary["best_" + evaluations.names[i]] = *std::min_element(values.begin(), values.end());
  }
}

void add_optimizer(Json& summary, const Columns& metrics) {
  const auto full_lr = [&](std::size_t i) { return metrics["lr_factor"][i] == 1; };
  const auto settled = [&](std::size_t i) { return metrics["step"][i] >= kSettled; };
  summary["update_rms"] = mean(values_where(metrics, "update_rms", full_lr));
  summary["r_max_settled"] = median(values_where(metrics, "r_max", settled));
  summary["triggered_settled"] = mean(values_where(metrics, "triggered", settled));
  summary["damped_settled"] = mean(values_where(metrics, "damped_share", settled));
  summary["c_mean"] = mean(values_where(metrics, "c_mean", [](std::size_t) { return true; }));
  summary["skipped"] = *std::max_element(metrics["skipped"].begin(), metrics["skipped"].end(),
                                         [](double a, double b) { return std::isnan(a) || a < b; });
  summary["bursts"] = std::accumulate(metrics["burst"].begin(), metrics["burst"].end(), 0.0);
}

void add_times(Json& summary, const TrainingTimes& times, const StepCost& cost, const TrainingSettings& settings) {
  const double peak = 1e12 * settings.peak_tflops * settings.ranks;
  const double seconds_per_step = times.seconds / times.steps;
  summary["ms_per_step"] = 1e3 * seconds_per_step;
  summary["items_per_second"] = cost.items / seconds_per_step;
  summary["optimizer_share"] = times.optimizer_seconds / times.measured_seconds;
  summary["mfu"] = peak > 0 ? cost.flops / seconds_per_step / peak : kNone;
}

}  // namespace

Json training_summary(const std::filesystem::path& folder, const TrainingSettings& settings, const TrainingTimes& times,
                      const StepCost& cost, double lr) {
  const RunRecord tables{.folder = folder, .spec = {}, .summary = {}};
  const Columns metrics = tables.table("metrics");
  Json summary = Json::object();
  add_losses(summary, metrics, settings);
  add_evaluations(summary, tables.table("eval"), !std::isfinite(metrics["loss"].back()));
  add_optimizer(summary, metrics);
  add_times(summary, times, cost, settings);
  summary["lr"] = lr;
  return summary;
}

}  // namespace trasmuon::lab
