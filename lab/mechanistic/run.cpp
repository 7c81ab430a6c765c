// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/run.h"

#include <trasmuon/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lab/mechanistic/bursted_optimizer.h"
#include "lab/mechanistic/quadratic.h"
#include "lab/mechanistic/stationarity.h"
#include "lab/records/json.h"
#include "lab/study/options_check.h"

namespace trasmuon::lab {
namespace {

constexpr std::uint64_t kPilotSeed = 0, kFirstSeed = 1;  // no run has the pilot's problem

double& lr_of(Options& options) {
  return std::visit([](auto& o) -> double& { return o.lr; }, options);
}

double lr_of(const Options& options) {
  return std::visit([](const auto& o) { return o.lr; }, options);
}

/// eta of the stationarity theorem; NaN where it does not apply.
double theorem_eta(const Options& options) {
  const auto* own = std::get_if<TrasMuonOptions>(&options);
  const bool applies = own != nullptr && own->calibrate && own->weight_decay == 0;
  return applies ? own->rms_scale * own->lr : std::numeric_limits<double>::quiet_NaN();
}

/// The optimizer of a run, and the control that applies its damping's mean to all columns.
class Trainer {
 public:
  Trainer(const MechanisticSettings& settings, const Options& options, const Bursts& bursts, std::span<double> weight)
      : bursts_(bursts), lr_(lr_of(options)) {
    const Bursts* active = settings.bursts ? &bursts : nullptr;
    if (const auto* own = std::get_if<TrasMuonOptions>(&options)) trasmuon_ = *own;
    if (!settings.uniform_c) {
      bursted_.emplace(options, weight, settings.dim, active);
    } else {
      TrasMuonOptions undamped = *trasmuon_;
      undamped.clip = Clip::none;
      bursted_.emplace(undamped, weight, settings.dim, active);
      shadow_.emplace(*trasmuon_, settings.dim, active);
    }
  }

  MechanisticStep step(int step, std::vector<double>& gradient) {
    double uniform = 1;
    if (shadow_) {
      uniform = shadow_->step(step, gradient);
      bursted_->optimizer().set_lr(lr_ * uniform);
    }
    bursted_->step(step, gradient);
    const Diagnostics& update = bursted_->diagnostics();
    MechanisticStep seen{.step = step,
                         .event = bursted_->bursts_at(step),
                         .r_q95 = update.r_q95,
                         .r_max = update.r_max,
                         .c_min = uniform * update.c_min,
                         .c_mean = uniform * update.c_mean,
                         .update_rms = update.update_rms};
    if (trasmuon_) {
      const std::span<const double> c = bursted_->damping();
      const auto [low, high] = std::minmax_element(c.begin(), c.end());
      seen.c_hit = uniform * bursts_.damping(step, c);
      seen.c_violated = !(uniform * *low >= trasmuon_->c_min * (1 - 1e-12) && *high <= 1);
      seen.bound_violated = trasmuon_->calibrate && !(update.update_rms <= trasmuon_->rms_scale * lr_ * (1 + 1e-9));
    }
    return seen;
  }

 private:
  const Bursts& bursts_;
  double lr_;
  std::optional<TrasMuonOptions> trasmuon_;
  std::optional<BurstedOptimizer> bursted_;
  std::optional<ShadowDamping> shadow_;
};

/// Runs with lr as it is in the options.
MechanisticSummary run(const MechanisticSettings& settings, const Options& options, std::uint64_t seed,
                       const std::function<void(const MechanisticStep&)>& observe) {
  const auto& s = settings;
  const Quadratic problem({s.dim, s.kappa, s.fix_v, s.isotropic_b}, seed);
  const Bursts bursts({s.burst_factor, s.burst_period, s.burst_columns, s.fix_v}, s.dim, s.steps, seed);
  std::vector<double> weight(static_cast<std::size_t>(s.dim) * s.dim), gradient(weight.size());
  Trainer trainer(s, options, bursts, weight);

  MechanisticSummary summary;
  Stationarity stationarity(theorem_eta(options));
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
  settings.bursts = settings.uniform_c = false;
  return lr_of(options) * settings.update_rms / run(settings, options, kPilotSeed, {}).update_rms;
}

}  // namespace

void validate(const MechanisticSettings& settings) {
  constexpr double kMostKappa = 1e100;  // its square, the smoothness, is far from overflow
  constexpr int kMostSteps = 1'000'000'000;
  const auto refuse = [](const char* field, const std::string& most, const std::string& value) {
    throw Error("mechanistic: " + std::string(field) + " must be <= " + most + ", got " + value);
  };
  if (settings.burst_columns > settings.dim) {
    refuse("burst_columns", "dim = " + std::to_string(settings.dim), std::to_string(settings.burst_columns));
  }
  if (settings.kappa > kMostKappa) refuse("kappa", to_text(kMostKappa), to_text(settings.kappa));
  if (settings.steps > kMostSteps) refuse("steps", to_text(kMostSteps), to_text(settings.steps));
  if (settings.burst_period > kMostSteps) refuse("burst_period", to_text(kMostSteps), to_text(settings.burst_period));
}

void check(const MechanisticSettings& settings, const Options& options) {
  if (settings.uniform_c && !std::holds_alternative<TrasMuonOptions>(options)) {
    throw Error(std::string("mechanistic: uniform_c must be false unless the rule is trasmuon, got true with ") +
                rule_name(options));
  }
  if (settings.update_rms > 0 && lr_of(options) == 0) {
    throw Error("mechanistic: lr must be > 0 where update_rms is given, got 0");
  }
  check_options<double>(options, settings.lr_scale, "mechanistic");
}

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
