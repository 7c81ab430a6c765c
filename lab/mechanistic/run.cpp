// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>
#include <vector>

#include "lab/mechanistic/quadratic.h"
#include "lab/mechanistic/stationarity.h"
#include "lab/report/statistics/stats.h"

namespace trasmuon::lab {
namespace {

constexpr std::uint64_t kPilotSeed = 0, kFirstSeed = 1;  // no run has the pilot's problem
constexpr std::size_t kFinalLosses = 20;

double& lr_of(Options& options) {
  return std::visit([](auto& o) -> double& { return o.lr; }, options);
}

double median_of_last(const std::vector<double>& losses, std::size_t count) {
  const std::size_t used = std::min(count, losses.size());
  return quantile({losses.end() - static_cast<std::ptrdiff_t>(used), losses.end()}, 0.5);
}

/// eta of the stationarity theorem; NaN where it does not apply.
double theorem_eta(const MechanisticSettings& settings, const Options& options) {
  const auto* own = std::get_if<TrasMuonOptions>(&options);
  const bool applies = own != nullptr && own->calibrate && own->weight_decay == 0 && settings.lr_end == 1;
  return applies ? own->rms_scale * own->lr : std::numeric_limits<double>::quiet_NaN();
}

/// Runs with lr as it is in the options.
MechanisticSummary run(const MechanisticSettings& settings, const Options& options, std::uint64_t seed,
                       const std::function<void(const MechanisticStep&)>& observe) {
  const auto& s = settings;
  const Quadratic problem({s.dim, s.kappa, s.b_basis == "random", s.isotropic_b}, seed);
  const Bursts bursts({s.burst_factor, s.burst_period, s.burst_phase, s.burst_columns, s.burst_basis == "mixed"}, s.dim,
                      s.steps, seed);
  std::vector<double> weight(static_cast<std::size_t>(s.dim) * s.dim), gradient(weight.size());
  Trainer trainer(s, options, bursts, weight, seed);

  MechanisticSummary summary;
  Stationarity stationarity(theorem_eta(s, options));
  std::vector<double> losses{problem.evaluate(weight, gradient)};
  if (observe) observe({.loss = losses.back()});
  double sum_c = 0, sum_rms = 0;
  for (int step = 1; step <= s.steps && std::isfinite(losses.back()); ++step) {
    const std::vector<double> before = weight, exact = gradient;
    MechanisticStep seen = trainer.step(step, gradient);
    stationarity.observe(exact, before, weight);
    seen.loss = problem.evaluate(weight, gradient);
    if (observe) observe(seen);
    losses.push_back(seen.loss);
    sum_c += seen.c_mean;
    sum_rms += seen.update_rms;
    summary.min_c = std::min(summary.min_c, seen.c_min);
    summary.bound_violations += seen.bound_violated;
    summary.c_violations += seen.c_violated;
    summary.steps = step;
  }
  summary.spikes = find_spikes(losses);
  summary.initial_loss = losses.front();
  summary.final_loss = std::isfinite(losses.back()) ? losses.back() : std::numeric_limits<double>::infinity();
  summary.final_median = std::isfinite(losses.back()) ? median_of_last(losses, kFinalLosses) : summary.final_loss;
  summary.best_loss = std::numeric_limits<double>::infinity();
  for (const double loss : losses) summary.best_loss = std::min(summary.best_loss, loss);  // ignores NaN
  const int steps = std::max(summary.steps, 1);
  summary.mean_c = sum_c / steps;
  summary.update_rms = sum_rms / steps;
  summary.misaligned_steps = stationarity.misaligned();
  summary.bound_ratio = stationarity.bound(losses.front(), problem.smoothness()) / stationarity.mean_squared_gradient();
  return summary;
}

/// lr at which the mean update RMS of a run without bursts is settings.update_rms, to about 1 % when the options' lr is
/// near it already: the RMS is not quite proportional to lr.
double fitted_lr(MechanisticSettings settings, Options options) {
  settings.bursts = false;
  settings.damping = "columns";
  settings.lr_end = 1;
  return lr_of(options) * settings.update_rms / run(settings, options, kPilotSeed, {}).update_rms;
}

}  // namespace

double memory(const MechanisticSettings& settings) {
  // Matrices of the problem, of a step and of the optimizer; losses, with a copy to find spikes; columns of the bursts.
  const double matrix = 8.0 * settings.dim * settings.dim;
  return 24 * matrix + 24.0 * settings.steps + 4.0 * settings.burst_columns * (settings.steps / settings.burst_period);
}

MechanisticSummary run_mechanistic(const MechanisticSettings& settings, const Options& options, std::uint64_t seed,
                                   const std::function<void(const MechanisticStep&)>& observe) {
  validate(settings);
  check(settings, options);
  Options scaled = options;
  if (settings.update_rms > 0) lr_of(scaled) = fitted_lr(settings, options);
  lr_of(scaled) *= settings.lr_scale;
  MechanisticSummary summary = run(settings, scaled, kFirstSeed + seed, observe);
  summary.lr = lr_of(scaled);
  return summary;
}

}  // namespace trasmuon::lab
