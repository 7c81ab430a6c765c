// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/run.h"

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <numeric>
#include <vector>

#include "lab/pinn/events.h"
#include "lab/pinn/settings.h"
#include "lab/pinn/training.h"

namespace trasmuon::lab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNone = std::numeric_limits<double>::quiet_NaN();

double& lr_of(Options& options) {
  return std::visit([](auto& o) -> double& { return o.lr; }, options);
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return kNone;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double mean_step_size(const PinnSettings& settings, const Options& options, std::uint64_t seed) {
  PinnTraining training(settings, options, seed);
  std::vector<double> sizes;
  while (static_cast<int>(sizes.size()) < std::min(settings.first_event, settings.steps)) {
    sizes.push_back(training.step().step_size);
  }
  return mean(sizes);
}

/// lr at which the mean step size before the events is settings.update_rms, from pilot runs over those steps. Step size
/// grows a little slower than lr, so one pilot is not enough. What the run misses is seen in its own step_size.
double fitted_lr(const PinnSettings& settings, Options options, std::uint64_t seed) {
  constexpr double kTolerance = 0.02;
  constexpr int kMostPilots = 4;
  double& lr = lr_of(options);
  double power = 1, lr_before = 0, size_before = 0;  // size ~ lr^power
  for (int pilot = 0; pilot < kMostPilots; ++pilot) {
    const double size = mean_step_size(settings, options, seed), factor = settings.update_rms / size;
    if (!std::isfinite(factor) || std::abs(factor - 1) <= kTolerance) break;
    if (pilot > 0) power = std::clamp(std::log(size / size_before) / std::log(lr / lr_before), 0.3, 2.0);
    lr_before = lr, size_before = size;
    lr *= std::pow(factor, 1 / power);
  }
  return lr;
}

/// The last evaluations differ by the fluctuation of the loss, so the final error is their mean.
double final_error(const std::vector<double>& errors) {
  constexpr std::size_t kEvaluations = 5;
  return mean({errors.end() - static_cast<std::ptrdiff_t>(std::min(kEvaluations, errors.size())), errors.end()});
}

/// One run: training, evaluation, and the tables of both.
class PinnRun {
 public:
  PinnRun(const PinnSettings& settings, const Options& options, std::uint64_t seed, RunLog& log)
      : settings_(settings), training_(settings, options, seed), log_(log) {}

  void run() {
    const std::clock_t start = std::clock();  // CPU time, so that other load on the machine hardly matters
    for (int t = 0; t < settings_.steps; ++t) {
      if (t % settings_.eval_every == 0) evaluate(t);
      if (t == settings_.first_event) before_events_ = training_.relative_l2();
      const PinnStep seen = training_.step();
      record(t, seen);
      if (!std::isfinite(seen.loss)) break;
      if (t % 16 == 0) log_.progress(static_cast<double>(t) / settings_.steps);
    }
    evaluate(static_cast<int>(losses_.size()));
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    milliseconds_ = 1e3 * seconds / static_cast<double>(losses_.size());
  }

  Json summary(double lr) {
    const int first = settings_.first_event, period = settings_.event_period, steps = settings_.steps;
    const std::vector<EventPeak> peaks = find_peaks(losses_, first, period);
    write(peaks);
    double highest = kNone;
    for (const EventPeak& peak : peaks) highest = std::fmax(highest, peak.ratio);
    return {{"spike_peak", highest},
            {"final_rel_l2", final_error(errors_)},  // infinity is written as null
            {"best_rel_l2", *std::min_element(errors_.begin(), errors_.end())},
            {"rel_l2_before_events", before_events_},
            {"final_loss", losses_.back()},
            {"step_size", mean(stationary_sizes_)},
            {"loss_volatility_before", loss_volatility(losses_, first / 2, first, first, period)},
            {"loss_volatility_after", loss_volatility(losses_, first, steps, first, period)},
            {"ms_per_step", milliseconds_},
            {"lr", lr}};
  }

 private:
  void evaluate(int step) {
    const double error = training_.relative_l2();
    errors_.push_back(std::isfinite(error) ? error : kInfinity);
    log_.table("eval", {"step", "rel_l2"}).row({static_cast<double>(step), errors_.back()});
  }

  void record(int t, const PinnStep& seen) {
    losses_.push_back(std::isfinite(seen.loss) ? seen.loss : kInfinity);
    if (t < settings_.first_event) stationary_sizes_.push_back(seen.step_size);
    // The same steps are measured in runs without events, for comparison.
    if (is_event_step(t, settings_.first_event, settings_.event_period)) {
      local_errors_.push_back(training_.local_error(training_.patch_at(t)));
    }
    log_.table("metrics", {"step", "loss", "loss_pde", "loss_boundary", "event", "patch", "step_size", "r_max",
                           "c_used_min", "c_mean"})
        .row({static_cast<double>(t), seen.loss, seen.loss_pde, seen.loss_boundary, seen.patch >= 0 ? 1.0 : 0.0,
              seen.patch >= 0 ? seen.patch : kNone, seen.step_size, seen.r_max, seen.c_min, seen.c_mean});
  }

  void write(const std::vector<EventPeak>& peaks) {
    MetricsTable& table = log_.table(
        "events", {"step", "patch", "roi_rel_l2", "roi_rms", "outside_rel_l2", "baseline", "peak_step", "peak_ratio"});
    for (std::size_t i = 0; i < peaks.size(); ++i) {
      const EventPeak& peak = peaks[i];
      const LocalError& error = local_errors_[i];
      table.row({static_cast<double>(peak.step), static_cast<double>(training_.patch_at(peak.step)), error.roi_rel_l2,
                 error.roi_rms, error.outside_rel_l2, peak.baseline, static_cast<double>(peak.peak_step), peak.ratio});
    }
  }

  const PinnSettings& settings_;
  PinnTraining training_;
  RunLog& log_;
  std::vector<double> losses_, errors_, stationary_sizes_;
  std::vector<LocalError> local_errors_;
  double before_events_ = kNone, milliseconds_ = 0;
};

}  // namespace

std::string_view pinn_missing() { return {}; }

Json run_pinn(const RunSpec& spec, RunLog& log) {
  // Each step allocates and frees megabytes. By default glibc returns them to the system every time, which takes a
  // tenth of the run.
  mallopt(M_MMAP_THRESHOLD, 1 << 28);
  mallopt(M_TRIM_THRESHOLD, 1 << 29);
  const auto settings = settings_from<PinnSettings>(spec.settings, spec.study);
  Options options = spec.options;
  if (settings.update_rms > 0) lr_of(options) = fitted_lr(settings, options, spec.seed);
  lr_of(options) *= settings.lr_scale;
  PinnRun run(settings, options, spec.seed, log);
  run.run();
  return run.summary(lr_of(options));
}

}  // namespace trasmuon::lab
