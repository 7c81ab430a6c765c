// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trasmuon/libtorch/agree.h"
#include "trasmuon/libtorch/binding.h"
#include "trasmuon/libtorch/ranks.h"
#include "trasmuon/ownership.h"

namespace trasmuon::libtorch::detail {

/// One rank's part of an optimizer that is spread over ranks. The core has all parameters, with the same numbers on
/// all.
class RankEngine {
 public:
  virtual ~RankEngine() = default;

  /// Describes what all ranks must have in common.
  virtual std::string describe() const = 0;
  virtual const Ownership& ownership() const = 0;
  /// Takes a step, or throws and leaves weights and state as they were. `gradients` is called once and may throw;
  /// undefined gradients are missing ones. On the CPU all ranks then throw, and they do if their tables, options or
  /// gradients differ. On GPUs, where the host would have to wait for the answer, only this rank throws.
  virtual void step(Ranks& ranks, const std::function<std::vector<torch::Tensor>()>& gradients) = 0;
  /// Returns the state of the whole parameter; every rank must call it.
  virtual StateTensors gather_state(Ranks& ranks, std::size_t index) = 0;
  /// Copies this rank's part of the state of the whole parameter, which fits.
  virtual void scatter_state(std::size_t index, const StateTensors& whole) = 0;
  /// Returns the shape of a state tensor of the whole parameter.
  virtual std::vector<std::int64_t> whole_shape(std::size_t index, const StateSpec& spec) const {
    (void)index;
    return {spec.shape.dims().begin(), spec.shape.dims().end()};
  }

  trasmuon::Optimizer& core() { return *binding_.core; }
  const trasmuon::Optimizer& core() const { return *binding_.core; }
  /// The parameters, with the state that this rank keeps of each.
  const std::vector<BoundTensor>& tensors() const { return binding_.tensors; }

  /// Returns tensors without memory that have type and shape of the whole parameter's state.
  StateTensors expected_state(std::size_t index) const {
    StateTensors state;
    for (const auto& tensor : core().state(index)) {
      state[tensor.spec.name] = torch::empty(
          whole_shape(index, tensor.spec), torch::TensorOptions(torch::kMeta).dtype(scalar_type_of(tensor.spec.dtype)));
    }
    return state;
  }

 protected:
  /// Whether every rank steps the whole parameter, each with its own gradient, so that it must have the same.
  virtual bool on_every_rank(std::size_t index) const = 0;

  std::vector<TensorView> views_of(std::vector<torch::Tensor>& gradients) const {
    std::vector<TensorView> views(gradients.size());
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (!gradients[i].defined()) continue;
      const torch::Tensor& weight = tensors()[i].tensor;
      const std::string who = "gradient of '" + core().parameter(i).name + "'";
      if (gradients[i].sizes() != weight.sizes()) {
        throw Error(who + ": must have the weight's shape " + text_of(weight.sizes()) + ", got " +
                    text_of(gradients[i].sizes()));
      }
      views[i] = gradient_view(gradients[i], weight, who);
    }
    return views;
  }

  /// Describes what all ranks must have in common in this step.
  std::string describe_step(const std::vector<torch::Tensor>& gradients) const {
    std::string text = describe();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (on_every_rank(i) && !gradients[i].defined()) text += "no gradient of '" + core().parameter(i).name + "'\n";
    }
    return text;
  }

  /// Points the core at the memory that a tensor has now; its type and shape must be as they were.
  void rebind(std::size_t index) {
    const Parameter& parameter = core().parameter(index);
    const std::string who = "parameter '" + parameter.name + "'";
    const TensorView now = weight_view(tensors()[index].tensor, who, parameter.shard.has_value());
    const TensorView& before = parameter.weight;
    if (now.dtype != before.dtype || !(now.shape == before.shape) || now.row_stride != before.row_stride) {
      throw Error(who + ": must stay " + to_string(before.dtype) + " " + to_string(before.shape) + ", got " +
                  to_string(now.dtype) + " " + to_string(now.shape));
    }
    if (now.data != before.data) core().rebind_weight(index, now.data);
  }

  torch::Tensor empty_state(std::size_t index, const StateSpec& spec, const std::vector<std::int64_t>& shape) const {
    return torch::empty(shape,
                        tensors()[index].tensor.options().dtype(scalar_type_of(spec.dtype)).requires_grad(false));
  }

  /// The memory of a contiguous tensor: old versions of Gloo do not know all types.
  static torch::Tensor bytes_of(const torch::Tensor& tensor) { return tensor.view({-1}).view(torch::kUInt8); }

  Binding binding_;
};

}  // namespace trasmuon::libtorch::detail
