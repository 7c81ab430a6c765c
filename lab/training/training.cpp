// SPDX-License-Identifier: Apache-2.0
#include "lab/training/training.h"

#include <torch/utils.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "lab/models/autocast.h"
#include "lab/training/parameter_groups.h"
#include "lab/training/precision.h"

namespace trasmuon::lab {
namespace {

using Clock = std::chrono::steady_clock;

/// Torch's generators in step `step` are a function of seed and step, so a checkpoint does not need their state, and
/// evaluations do not change what follows. Step -1 is the start, which is that of rank 0 on all ranks.
void seed_torch(std::uint64_t seed, std::int64_t step, int rank = 0) {
  constexpr int kStepBits = 48;
  torch::manual_seed(seed * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(step + 1) +
                     (static_cast<std::uint64_t>(rank) << kStepBits));
}

std::unique_ptr<Task> make(const TaskFactory& make_task, const TrainingSettings& settings, std::uint64_t seed) {
  use_precision(settings);
  seed_torch(seed, -1);
  return make_task();
}

double weight_decay_of(const Options& options) {
  return std::visit([](const auto& o) { return o.weight_decay; }, options);
}

double norm_of(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> norms;
  for (const at::Tensor& tensor : tensors) norms.push_back(tensor.norm());
  return at::stack(norms).norm().item<double>();
}

}  // namespace

Training::Training(const TaskFactory& make_task, const TrainingSettings& settings, const Options& method,
                   std::uint64_t seed, RankGroup ranks)
    : settings_(settings),
      method_(method),
      seed_(seed),
      ranks_(std::move(ranks)),
      device_(training_device(settings)),
      schedule_{settings.steps, settings.warmup_share, settings.decay_share},
      bursts_(settings),
      task_(make(make_task, settings, seed)) {
  task_->model().to(device_);
  const std::vector<libtorch::OptimizerParamGroup> groups = training_groups(task_->model(), method, settings);
  for (const libtorch::OptimizerParamGroup& group : groups) base_lr_.push_back(libtorch::options_of(group).get_lr());
  matrices_ = groups.front().params();
  optimizer_ = std::make_unique<libtorch::Optimizer>(groups, method,
                                                     OptimizerOptions{.diagnostics = settings.diagnostics_every > 0});
  placebo_ = std::make_unique<DampingPlacebo>(DampingPlacebo::kind_of(settings.damping), matrices_, seed);
}

double Training::accumulate_gradients(int step) {
  const int count = micro_batches(settings_) / ranks_.count();
  at::Tensor sum;  // read once: on a GPU every reading waits
  for (int i = 0; i < count; ++i) {
    at::Tensor loss;
    {
      const AutocastGuard autocast(device_.type(), product_type(settings_));
      loss = task_->loss(step, ranks_.rank() * count + i);
    }
    (loss / count).backward();
    sum = sum.defined() ? sum + loss.detach() : loss.detach();
  }
  std::vector<at::Tensor> averaged{sum};
  for (const at::Tensor& parameter : task_->model().parameters()) {
    if (parameter.grad().defined()) averaged.push_back(parameter.grad());
  }
  ranks_.average(averaged);
  return sum.item<double>() / count;
}

void Training::set_learning_rates(double factor) {
  for (std::size_t g = 0; g < base_lr_.size(); ++g)
    std::visit([&](auto& o) { o.lr = factor * base_lr_[g]; }, optimizer_->options(g));
}

TrainingStep Training::step(int step, bool measure) {
  TrainingStep seen{.lr_factor = schedule_.factor(step), .gradient_norm = std::numeric_limits<double>::quiet_NaN()};
  seed_torch(seed_, step, ranks_.rank());
  task_->model().train();
  optimizer_->zero_grad();
  seen.loss = accumulate_gradients(step);
  if (!std::isfinite(seen.loss)) return seen;

  std::vector<at::Tensor> gradients;
  for (const at::Tensor& matrix : matrices_) gradients.push_back(matrix.grad());
  if (measure) seen.gradient_norm = norm_of(gradients);
  seen.burst = bursts_.at(step);
  if (seen.burst) seen.bursts = bursts_.apply(step, gradients);

  set_learning_rates(seen.lr_factor);
  if (measure) wait_for(device_);
  const Clock::time_point start = Clock::now();
  placebo_->before_step();
  optimizer_->step();
  placebo_->after_step(*optimizer_, 1 - seen.lr_factor * base_lr_[0] * weight_decay_of(method_));
  if (measure) {
    wait_for(device_);
    seen.optimizer_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return seen;
}

Evaluation Training::evaluate() {
  at::NoGradGuard no_grad;
  const AutocastGuard autocast(device_.type(), product_type(settings_));
  task_->model().eval();
  return task_->evaluate();
}

std::vector<std::pair<std::string, at::Tensor>> Training::state() {
  std::vector<std::pair<std::string, at::Tensor>> all;
  const auto parameters = task_->model().named_parameters();
  const auto buffers = task_->model().named_buffers();
  for (const auto& item : parameters) all.emplace_back("weight/" + item.key(), item.value());
  for (const auto& item : buffers) all.emplace_back("buffer/" + item.key(), item.value());
  for (const libtorch::OptimizerParamGroup& group : optimizer_->param_groups()) {
    for (std::size_t i = 0; i < group.params().size(); ++i) {
      const auto& kept = *optimizer_->state().at(libtorch::state_key(group.params()[i]));
      for (const auto& [name, tensor] : static_cast<const libtorch::ParamState&>(kept).tensors)
        all.emplace_back("state/" + libtorch::options_of(group).parameters[i].name + "/" + name, tensor);
    }
  }
  return all;
}

}  // namespace trasmuon::lab
