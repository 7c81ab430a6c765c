// SPDX-License-Identifier: Apache-2.0
#include "lab/training/train.h"

#include <malloc.h>
#include <trasmuon/error.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <variant>

#include "lab/records/checkpoint.h"
#include "lab/records/machine.h"
#include "lab/training/layer_statistics.h"
#include "lab/training/precision.h"
#include "lab/training/ranks/rank_processes.h"
#include "lab/training/ranks/visible_gpu.h"
#include "lab/training/summary.h"

namespace trasmuon::lab {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kMeasureEvery = 10;  // steps; to measure means to wait for a GPU
constexpr int kUnmeasured = 5;     // first steps of a process: they load kernels, choose algorithms, allocate

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double& lr_of(Options& options) {
  return std::visit([](auto& o) -> double& { return o.lr; }, options);
}

/// lr at which the hidden matrices' updates have the RMS settings.update_rms. The RMS is almost proportional to lr, so
/// one pilot run is enough: over the first tenth of the steps, of which the later half counts. What it misses is seen
/// in the run's own update_rms.
double fitted_lr(const TaskFactory& make_task, const TrainingSettings& settings, Options options, std::uint64_t seed,
                 const RankGroup& ranks) {
  TrainingSettings pilot = settings;
  pilot.burst_period = 0;
  pilot.warmup_share = pilot.decay_share = 0;
  const int steps = std::min(settings.steps, std::max(20, settings.steps / 10));
  Training training(make_task, pilot, options, seed, ranks);
  const LayerReader layers(training.optimizer().core());
  double sum = 0;
  for (int step = 0; step < steps; ++step) {
    if (!std::isfinite(training.step(step, false).loss)) break;
    if (step >= steps / 2) sum += layers.read(training.optimizer().core()).update_rms;
  }
  const double mean = sum / (steps - steps / 2), lr = lr_of(options);
  return mean > 0 ? lr * settings.update_rms / mean : lr;
}

/// One run: steps, evaluations, tables and checkpoints. Of several ranks the first evaluates and writes; the others
/// wait for it in their next step.
class TrainingRun {
 public:
  TrainingRun(const TaskFactory& make_task, const TrainingSettings& settings, const RunSpec& spec, RunLog& log,
              const RankGroup& ranks)
      : settings_(settings), id_(run_id(spec)), log_(log), writes_(ranks.rank() == 0) {
    std::optional<CheckpointReader> checkpoint;
    if (std::filesystem::exists(checkpoint_file(log.folder()))) checkpoint.emplace(checkpoint_file(log.folder()));
    Options options = spec.options;
    if (checkpoint) {
      lr_ = checkpoint->head().at("lr").get<double>();
    } else {
      lr_ = settings.lr_scale *
            (settings.update_rms > 0 ? fitted_lr(make_task, settings, options, spec.seed, ranks) : lr_of(options));
    }
    lr_of(options) = lr_;
    training_.emplace(make_task, settings, options, spec.seed, ranks);
    layers_.emplace(training_->optimizer().core());
    if (checkpoint) load(*checkpoint);
  }

  void run() {
    bool finite = true;
    while (finite && next_step_ < settings_.steps) {
      if (writes_ && next_step_ % settings_.eval_every == 0) evaluate();
      finite = step();
      ++next_step_;
      if (!writes_) continue;
      const bool more = finite && next_step_ < settings_.steps;
      if (more && settings_.checkpoint_every > 0 && next_step_ % settings_.checkpoint_every == 0) save();
      log_.progress(static_cast<double>(next_step_) / settings_.steps);
    }
    if (writes_) evaluate();
  }

  Json summary() {
    log_.flush();
    const double micro = micro_batches(settings_);
    Task& task = training_->task();
    return training_summary(log_.folder(), settings_, times_,
                            {task.items_per_micro_batch() * micro, task.flops_per_micro_batch() * micro}, lr_);
  }

 private:
  /// Returns whether the loss was finite.
  bool step() {
    const bool measure = next_step_ % kMeasureEvery == kMeasureEvery - 1;
    const Clock::time_point start = Clock::now();
    const TrainingStep seen = training_->step(next_step_, measure);
    if (looks(seen)) wait_for(training_->device());  // or the next reading would, outside of this step's time
    const double seconds = since(start);
    if (++steps_here_ > kUnmeasured || settings_.steps <= 2 * kUnmeasured) {
      times_.seconds += seconds;
      times_.steps += 1;
    }
    if (measure) {
      times_.measured_seconds += seconds;
      times_.optimizer_seconds += seen.optimizer_seconds;
    }
    const bool finite = std::isfinite(seen.loss);
    if (writes_) record(seen, finite);
    return finite;
  }

  /// Whether the optimizer's diagnostics are read in this step.
  bool looks(const TrainingStep& seen) const {
    return writes_ && std::isfinite(seen.loss) && settings_.diagnostics_every > 0 &&
           (next_step_ % settings_.diagnostics_every == 0 || seen.burst);
  }

  void record(const TrainingStep& seen, bool finite) {
    const double step = next_step_;
    std::vector<double> row{step, finite ? seen.loss : kInfinity, seen.lr_factor, seen.gradient_norm,
                            seen.burst ? 1.0 : 0.0};
    if (looks(seen)) {
      const LayerStatistics s = layers_->read(training_->optimizer().core());
      row.insert(row.end(), {s.update_rms, s.r_max, s.r_q95, s.c_min, s.c_mean, s.damped_share, s.triggered,
                             static_cast<double>(s.skipped)});
      layers_->log(training_->optimizer().core(), next_step_, log_);
      if (seen.burst) record_burst(seen.bursts, s);
    } else {
      row.resize(row.size() + 8, kNone);
    }
    log_.table("metrics", {"step", "loss", "lr_factor", "gradient_norm", "burst", "update_rms", "r_max", "r_q95",
                           "c_min", "c_mean", "damped_share", "triggered", "skipped"})
        .row(row);
  }

  /// The damping of the columns that a burst hit, beside that of all columns.
  void record_burst(const BurstSeen& burst, const LayerStatistics& all) {
    at::NoGradGuard no_grad;
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < burst.columns.size(); ++i) {
      const at::Tensor c = damping_of(training_->optimizer(), training_->matrices()[i]);
      if (!c.defined()) break;
      const at::Tensor hit = c.to(at::kCPU, at::kDouble).index_select(0, at::tensor(burst.columns[i], at::kLong));
      sum += hit.sum().item<double>();
      count += static_cast<double>(hit.numel());
    }
    log_.table("bursts", {"step", "size", "share", "r_max", "c_hit", "c_mean"})
        .row({static_cast<double>(next_step_), burst.size, burst.share, all.r_max, count > 0 ? sum / count : kNone,
              all.c_mean});
  }

  void evaluate() {
    std::vector<std::string> columns{"step"};
    std::vector<double> row{static_cast<double>(next_step_)};
    for (const auto& [name, value] : training_->evaluate()) {
      columns.push_back(name);
      row.push_back(std::isfinite(value) ? value : kInfinity);
    }
    log_.table("eval", columns).row(row);
  }

  void save() {
    log_.sync();
    const auto state = training_->state();
    Json tensors = Json::array();
    for (const auto& [name, tensor] : state) tensors.push_back({{"name", name}, {"bytes", tensor.nbytes()}});
    const Json head = {{"run", id_},
                       {"tables", log_.tables()},
                       {"next_step", next_step_},
                       {"lr", lr_},
                       {"times", {times_.seconds, times_.steps, times_.measured_seconds, times_.optimizer_seconds}},
                       {"tensors", std::move(tensors)}};
    CheckpointWriter writer(checkpoint_file(log_.folder()), head);
    for (const auto& [name, tensor] : state) {
      const at::Tensor packed = tensor.detach().to(at::kCPU).contiguous();
      writer.add(packed.data_ptr(), packed.nbytes());
    }
    writer.commit();
  }

  void load(CheckpointReader& checkpoint) {
    at::NoGradGuard no_grad;
    const Json& head = checkpoint.head();
    const auto state = training_->state();
    const Json& saved = head.at("tensors");
    const std::string file = checkpoint_file(log_.folder()).string();
    if (saved.size() != state.size())
      throw Error(file + ": must have " + std::to_string(state.size()) + " tensors, got " +
                  std::to_string(saved.size()) + "; remove it to start the run anew");
    for (std::size_t i = 0; i < state.size(); ++i) {
      const auto& [name, tensor] = state[i];
      if (saved[i].at("name") != name || saved[i].at("bytes") != tensor.nbytes())
        throw Error(file + ": '" + name + "' is not in its place or has another size; remove it to start the run anew");
      at::Tensor packed = at::empty(tensor.sizes(), tensor.options().device(at::kCPU).requires_grad(false));
      checkpoint.read(packed.data_ptr(), packed.nbytes());
      tensor.copy_(packed);
    }
    next_step_ = head.at("next_step");
    const Json& times = head.at("times");
    times_ = {times[0], times[1], times[2], times[3]};
    if (writes_) log_.continue_from(head.at("tables"));
  }

  const TrainingSettings settings_;
  const std::string id_;
  RunLog& log_;
  const bool writes_;
  double lr_ = 0;
  int next_step_ = 0, steps_here_ = 0;
  TrainingTimes times_;
  std::optional<Training> training_;
  std::optional<LayerReader> layers_;
};

/// The cores of a run are divided among its ranks.
void prepare_rank(int rank, const TrainingSettings& settings) {
  const bool cuda = settings.device == "cuda";
  use_threads(cuda ? std::max(1, usable_cores() / settings.ranks) : settings.threads);
  if (cuda) show_gpu_of_rank(rank, settings.ranks);
}

}  // namespace

Json train(const TaskFactory& make_task, const TrainingSettings& settings, const RunSpec& spec, RunLog& log) {
  // Each step allocates and frees megabytes. By default glibc returns them to the system every time.
  mallopt(M_MMAP_THRESHOLD, 1 << 28);
  mallopt(M_TRIM_THRESHOLD, 1 << 29);
  const std::filesystem::path store = log.folder() / "ranks";
  std::filesystem::remove(store);  // of an earlier process that was killed
  Json summary;
  run_ranks(settings.ranks, [&](int rank) {
    if (settings.ranks > 1) prepare_rank(rank, settings);
    TrainingRun run(make_task, settings, spec, log, RankGroup(store, rank, settings.ranks, device_type(settings)));
    run.run();
    if (rank == 0) summary = run.summary();
  });
  std::filesystem::remove(store);
  return summary;
}

}  // namespace trasmuon::lab
