// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "trasmuon/error.h"
#include "trasmuon/libtorch/archive.h"
#include "trasmuon/libtorch/devices.h"
#include "trasmuon/libtorch/groups.h"
#include "trasmuon/libtorch/tensors.h"
#include "trasmuon/optimizer.h"

namespace trasmuon::libtorch::detail {

/// A parameter and the state tensors that the core writes to.
struct BoundTensor {
  torch::Tensor tensor;
  StateTensors state = {};
  std::int64_t version = -1;  // of the tensor when its contents were last known
};

/// The core optimizer over the tensors of all groups, in order.
struct Binding {
  std::vector<BoundTensor> tensors;
  std::set<int> gpus;  // that hold at least one of the tensors
  std::unique_ptr<trasmuon::Optimizer> core;

  /// Returns whether the groups still have these tensors, at the same addresses.
  bool fits(const std::vector<OptimizerParamGroup>& groups) const {
    if (core == nullptr || groups.size() != core->group_count()) return false;
    std::size_t i = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const torch::Tensor& tensor : groups[g].params()) {
        if (i == tensors.size() || !tensor.is_same(tensors[i].tensor) || core->group_of(i) != g) return false;
        if (tensor.data_ptr() != core->parameter(i).weight.data) return false;
        ++i;
      }
    }
    return i == tensors.size();
  }

  /// Throws Error if a tensor was moved to another device: its state cannot follow.
  void check_devices() const {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::string before = to_string(core->parameter(i).device), now = text_of(tensors[i].tensor.device());
      if (now == before) continue;
      throw Error("parameter '" + core->parameter(i).name + "': must stay on " + before + ", got device " + now +
                  "; build the optimizer after moving the model");
    }
  }
};

inline std::vector<Parameter> parameters_of(const OptimizerParamGroup& group, std::size_t index) {
  const GroupOptions& options = options_of(group);
  const std::vector<torch::Tensor>& tensors = group.params();
  std::vector<Parameter> parameters = options.parameters;
  if (parameters.size() > tensors.size()) {
    throw Error("group " + std::to_string(index) + ": names " + std::to_string(parameters.size()) +
                " parameters, but has " + std::to_string(tensors.size()) + " tensors");
  }
  parameters.resize(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Parameter& parameter = parameters[i];
    if (parameter.name.empty()) parameter.name = "group" + std::to_string(index) + "." + std::to_string(i);
    const std::string who = "parameter '" + parameter.name + "'";
    parameter.device = device_of(tensors[i], who);
    parameter.weight = weight_view(tensors[i], who, parameter.shard.has_value());
    if (tensors[i].dim() < 2 && !std::holds_alternative<AdamWOptions>(options.rule)) {
      throw Error(who + ": " + rule_name(options.rule) + " needs at least two dimensions, got shape " +
                  text_of(tensors[i].sizes()) +
                  "; build the optimizer from the module, which gives such parameters to AdamW, or put them into a "
                  "group of their own with AdamWOptions");
    }
  }
  return parameters;
}

inline Binding bind(const std::vector<OptimizerParamGroup>& param_groups, OptimizerOptions settings) {
  std::vector<Group> groups;
  Binding binding;
  for (std::size_t g = 0; g < param_groups.size(); ++g) {
    groups.push_back({options_of(param_groups[g]).rule, parameters_of(param_groups[g], g)});
    for (const torch::Tensor& tensor : param_groups[g].params()) {
      binding.tensors.push_back({tensor});
      if (tensor.is_cuda()) binding.gpus.insert(tensor.device().index());
    }
  }
  settings.state = [tensors = binding.tensors.data()](std::size_t index, const StateSpec& spec) {
    const auto dims = spec.shape.dims();
    torch::Tensor tensor = torch::empty(at::IntArrayRef(dims.data(), dims.size()),
                                        tensors[index].tensor.options().dtype(scalar_type_of(spec.dtype)));
    return tensors[index].state.emplace(spec.name, tensor).first->second.data_ptr();
  };
  binding.core = std::make_unique<trasmuon::Optimizer>(std::move(groups), std::move(settings));
  return binding;
}

/// Marks a tensor as written by the core, as torch's own in-place operations do.
inline void note_written(BoundTensor& bound) {
  bound.tensor.unsafeGetTensorImpl()->bump_version();
  bound.version = bound.tensor._version();
}

/// Copies elements that others have written from the weight into its master, because the next
/// step overwrites the weight with the master. Compares on the device, so the host does not wait.
inline void follow_weight(BoundTensor& bound) {
  const auto found = bound.state.find("master");
  if (found == bound.state.end() || bound.version == bound.tensor._version()) return;
  bound.version = bound.tensor._version();
  const torch::Tensor& master = found->second;
  const torch::Tensor weight = bound.tensor.detach().reshape(master.sizes());
  const torch::Tensor same = master.to(weight.scalar_type()) == weight;
  master.copy_(torch::where(same, master, weight.to(master.scalar_type())));
}

/// Copies the state of all tensors that are also in `from`.
inline void carry_over(const Binding& from, Binding& to) {
  for (std::size_t i = 0; i < to.tensors.size(); ++i) {
    for (std::size_t j = 0; j < from.tensors.size(); ++j) {
      if (!to.tensors[i].tensor.is_same(from.tensors[j].tensor)) continue;
      const TensorView &before = from.core->parameter(j).weight, &now = to.core->parameter(i).weight;
      if (before.dtype != now.dtype || !(before.shape == now.shape)) {
        throw Error("parameter '" + to.core->parameter(i).name + "': must stay " + to_string(before.dtype) + " " +
                    to_string(before.shape) + ", got " + to_string(now.dtype) + " " + to_string(now.shape) +
                    "; build the optimizer after changing the model");
      }
      for (const auto& [name, tensor] : from.tensors[j].state) {
        const auto target = to.tensors[i].state.find(name);
        if (target != to.tensors[i].state.end() && target->second.sizes() == tensor.sizes())
          target->second.copy_(tensor);
      }
    }
  }
}

}  // namespace trasmuon::libtorch::detail
