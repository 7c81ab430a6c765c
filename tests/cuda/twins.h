// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>
#include <optional>

#include "cuda_memory.h"
#include "sizes.h"
#include "support/model.h"
#include "trasmuon/trasmuon.h"

namespace trasmuon::test {

/// The same parameters on the CPU (f64 or f32) and on the GPU, there once or under several options,
/// stepped with the same gradients.
template <class T>
class Twins {
 public:
  Twins(const Options& cpu_options, const std::vector<Options>& gpu_options, CudaMemory& memory,
        const std::vector<Item>& items = mixed_items(), double weight_scale = 1, const OptimizerOptions& settings = {})
      : memory_(memory) {
    std::vector<Parameter> parameters;
    for (const Item& item : items) {
      weights_.push_back(random_values<T>(item.shape.elements(), rng_, weight_scale));
      device_gradients_.push_back(static_cast<T*>(memory.allocate(weights_.back().size() * sizeof(T))));
      parameters.push_back({.name = "p" + std::to_string(weights_.size()),
                            .weight = view(weights_.back().data(), item.shape),
                            .transposed = item.transposed,
                            .row_blocks = item.row_blocks});
    }
    cpu_.emplace(std::vector{Group{cpu_options, parameters}}, settings);
    for (const Options& options : gpu_options) {
      Gpu& gpu = gpus_.emplace_back();
      for (std::size_t i = 0; i < items.size(); ++i) {
        gpu.weights.push_back(memory.copy(weights_[i]));
        parameters[i].weight = view(gpu.weights[i], items[i].shape);
        parameters[i].device = Device::cuda(0);
      }
      gpu.optimizer.emplace(std::vector{Group{options, parameters}}, settings);
    }
  }
  Twins(const Options& cpu_options, const Options& gpu_options, CudaMemory& memory,
        const std::vector<Item>& items = mixed_items(), double weight_scale = 1, const OptimizerOptions& settings = {})
      : Twins(cpu_options, std::vector{gpu_options}, memory, items, weight_scale, settings) {}

  void step(double gradient_scale = 1, int bad = -1) {
    std::vector<TensorView> cpu_gradients, gpu_gradients;
    std::vector<std::vector<T>> values;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const Shape shape = cpu_->parameter(i).weight.shape;
      values.push_back(random_values<T>(shape.elements(), rng_, gradient_scale));
      if (static_cast<int>(i) == bad) values.back()[3] = std::numeric_limits<T>::quiet_NaN();
      memory_.write(device_gradients_[i], values.back().data(), values.back().size() * sizeof(T));
      gpu_gradients.push_back(view(device_gradients_[i], shape));
    }
    for (std::size_t i = 0; i < weights_.size(); ++i)
      cpu_gradients.push_back(view(values[i].data(), cpu_->parameter(i).weight.shape));
    for (Gpu& gpu : gpus_) gpu.optimizer->step(gpu_gradients);
    cpu_->step(cpu_gradients);
  }

  /// Largest relative distance (Frobenius) of a parameter's weights from the CPU's.
  double distance(std::size_t which = 0) {
    double worst = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const std::vector<T> ours = memory_.fetch<T>(device_weight(i, which), weights_[i].size());
      double apart = 0, all = 0;
      for (std::size_t k = 0; k < ours.size(); ++k) {
        apart += std::pow(to_double(ours[k]) - to_double(weights_[i][k]), 2);
        all += std::pow(to_double(weights_[i][k]), 2);
      }
      worst = std::max(worst, std::isnan(apart) ? INFINITY : std::sqrt(apart / all));
    }
    return worst;
  }

  Optimizer& cpu() { return *cpu_; }
  Optimizer& gpu() { return *gpus_.front().optimizer; }
  const T* device_weight(std::size_t i, std::size_t which = 0) const { return gpus_[which].weights[i]; }
  std::size_t elements(std::size_t i) const { return weights_[i].size(); }
  std::size_t count() const { return weights_.size(); }

 private:
  struct Gpu {
    std::vector<T*> weights;
    std::optional<Optimizer> optimizer;
  };

  CudaMemory& memory_;
  std::mt19937_64 rng_{1};
  std::vector<std::vector<T>> weights_;
  std::vector<T*> device_gradients_;
  std::optional<Optimizer> cpu_;
  std::vector<Gpu> gpus_;
};

/// How far weights of order one may deviate after 200 steps with lr 0.02. Every step rounds the direction, so the
/// distance grows with the square root of the number of steps.
inline double tolerance(NewtonSchulzPrecision precision) {
  switch (precision) {
    case NewtonSchulzPrecision::f32: return 1e-5;
    case NewtonSchulzPrecision::tf32: return 3e-3;
    case NewtonSchulzPrecision::bf16: return 5e-2;
    default: return 1e-2;
  }
}

template <class T>
std::vector<T> state(const Optimizer& optimizer, std::size_t index, const char* name) {
  std::vector<T> values(static_cast<std::size_t>(optimizer.state(index, name).shape.elements()));
  optimizer.read_state(index, name, values.data());
  return values;
}

}  // namespace trasmuon::test
