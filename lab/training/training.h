// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/libtorch/optimizer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lab/training/damping_placebo.h"
#include "lab/training/gradient_bursts.h"
#include "lab/training/ranks/rank_group.h"
#include "lab/training/schedule.h"
#include "lab/training/settings.h"
#include "lab/training/task.h"

namespace trasmuon::lab {

/// Makes the task of a run, its model on the device of the settings. Torch's random numbers are seeded before.
using TaskFactory = std::function<std::unique_ptr<Task>()>;

/// What one step saw. The loss is that before the update.
struct TrainingStep {
  double loss = 0;
  double lr_factor = 1;
  double gradient_norm = 0;  ///< of the hidden matrices; NaN unless asked for
  bool burst = false;
  BurstSeen bursts = {};
  double optimizer_seconds = 0;  ///< 0 unless asked for
};

/// A model in training. Its state after a step depends on the settings, the method, the seed and the step alone. Over
/// ranks each has the whole model and does its share of the micro-batches; gradients are averaged, so that all ranks
/// take the same step and stay the same to the bit.
class Training {
 public:
  Training(const TaskFactory& make_task, const TrainingSettings& settings, const Options& method, std::uint64_t seed,
           RankGroup ranks = {});

  /// Does step `step`. The steps of one object must be consecutive, from 0 or from that after load_state. A loss that
  /// is not finite leaves the weights as they are. `measure`: gradient norm and the optimizer's time.
  TrainingStep step(int step, bool measure);
  Evaluation evaluate();

  Task& task() { return *task_; }
  const at::Device& device() const { return device_; }
  libtorch::Optimizer& optimizer() { return *optimizer_; }
  const std::vector<at::Tensor>& matrices() const { return matrices_; }  ///< under the method's rule

  /// Returns weights, buffers and the optimizer's state by name: with the number of the next step, all that a
  /// checkpoint needs.
  std::vector<std::pair<std::string, at::Tensor>> state();

 private:
  double accumulate_gradients(int step);
  void set_learning_rates(double factor);

  TrainingSettings settings_;
  Options method_;
  std::uint64_t seed_;
  RankGroup ranks_;
  at::Device device_;
  Schedule schedule_;
  GradientBursts bursts_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<libtorch::Optimizer> optimizer_;
  std::vector<double> base_lr_;  // of each group
  std::vector<at::Tensor> matrices_;
  std::unique_ptr<DampingPlacebo> placebo_;
};

}  // namespace trasmuon::lab
