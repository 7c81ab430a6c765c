// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trasmuon/libtorch/archive.h"
#include "trasmuon/libtorch/binding.h"
#include "trasmuon/libtorch/compat.h"
#include "trasmuon/libtorch/devices.h"
#include "trasmuon/libtorch/groups.h"
#include "trasmuon/libtorch/tensors.h"
#include "trasmuon/optimizer.h"

namespace trasmuon::libtorch {

/// A parameter's state in torch::optim::Optimizer::state(): momentum, v_row, ... The core uses the
/// memory of these tensors: write to them in place.
struct ParamState : torch::optim::OptimizerCloneableParamState<ParamState> {
  explicit ParamState(detail::StateTensors state) : tensors(std::move(state)) {}

  const detail::StateTensors tensors;
};

/// trasmuon::Optimizer as a torch::optim::Optimizer, with a rule for each group, for parameters
/// on the CPU and on GPUs. All state is created in the constructor, on the parameter's device.
/// A call that throws Error changes nothing.
class Optimizer : public torch::optim::Optimizer {
 public:
  /// Groups without options use `defaults`. settings.state must be unset.
  explicit Optimizer(const std::vector<OptimizerParamGroup>& groups, Options defaults = TrasMuonOptions{},
                     OptimizerOptions settings = {})
      : torch::optim::Optimizer(std::vector<OptimizerParamGroup>{},
                                std::make_unique<GroupOptions>(std::move(defaults))),
        settings_(std::move(settings)) {
    if (settings_.state) throw Error("optimizer: state must be unset, torch tensors hold it");
    for (const OptimizerParamGroup& group : groups) add_group(*this, group);
    update_binding();
  }

  /// Steps every parameter that has a gradient; the others and their state stay unchanged.
  /// GPU work is enqueued on torch's current stream of that GPU; the call does not wait for it.
  torch::Tensor step(LossClosure closure = nullptr) override {
    at::NoGradGuard no_grad;
    torch::Tensor loss;
    if (closure) {
      at::AutoGradMode enable_grad(true);
      loss = closure();
    }
    update_binding();
    binding_.core->set_options(rules());
    std::vector<torch::Tensor> gradients(binding_.tensors.size());
    std::vector<TensorView> views(binding_.tensors.size());
    for (std::size_t i = 0; i < views.size(); ++i) {
      gradients[i] = binding_.tensors[i].tensor.grad();
      if (!gradients[i].defined()) continue;
      views[i] = detail::gradient_view(gradients[i], binding_.tensors[i].tensor,
                                       "gradient of '" + binding_.core->parameter(i).name + "'");
    }
    binding_.core->step_on_streams(views, detail::current_streams(binding_.gpus));
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (views[i]) detail::note_written(binding_.tensors[i]);
    }
    return loss;
  }

  /// Updates learning rate and other scalars inside CUDA graphs that were captured earlier, for
  /// replays that follow on torch's current streams. Throws Error if parameters or the stages of a
  /// step have changed since the capture.
  void refresh_recorded() {
    if (!binding_.fits(param_groups_))
      throw Error(
          "refresh_recorded: parameters must be as they were when the step was captured; step once and capture again");
    binding_.core->set_options(rules());
    binding_.core->refresh_recorded_on_streams(detail::current_streams(binding_.gpus));
  }

  /// As in the base class, but an invalid group throws Error here and not in the next step.
  void add_param_group(const OptimizerParamGroup& group) {
    add_group(*this, group);
    try {
      update_binding();
    } catch (...) {
      param_groups_.pop_back();
      throw;
    }
  }

  /// Returns the rule and fields of a group. Changes take effect in the next step.
  Options& options(std::size_t group = 0) { return options_of(param_groups_.at(group)).rule; }

  /// Returns the core optimizer, for diagnostics, state, warnings and sizes. The reference is
  /// valid until a group is added or a parameter's memory changes.
  const trasmuon::Optimizer& core() const { return *binding_.core; }

  /// Writes options and state. Weights are saved with their module.
  void save(torch::serialize::OutputArchive& archive) const override {
    const_cast<Optimizer*>(this)->update_binding();  // the base class may have added a group
    detail::write(archive, contents());
  }

  /// Restores state and options. The optimizer must have the same parameters and rules.
  void load(torch::serialize::InputArchive& archive) override {
    at::NoGradGuard no_grad;
    update_binding();
    const std::vector<detail::SavedGroup> own = contents(), saved = detail::read_groups(archive);
    detail::check_fit(own, saved);
    std::vector<Options> saved_rules;
    for (const detail::SavedGroup& group : saved) saved_rules.push_back(group.options);
    binding_.core->set_options(saved_rules);
    for (std::size_t g = 0; g < own.size(); ++g) {
      options(g) = saved[g].options;
      for (std::size_t i = 0; i < own[g].parameters.size(); ++i) {
        const detail::StateTensors& values = saved[g].parameters[i].state;
        for (const auto& [name, tensor] : own[g].parameters[i].state) tensor.copy_(values.at(name));
      }
    }
  }

 private:
  std::vector<Options> rules() const {
    std::vector<Options> list;
    for (const OptimizerParamGroup& group : param_groups_) list.push_back(options_of(group).rule);
    return list;
  }

  std::vector<detail::SavedGroup> contents() const {
    std::vector<detail::SavedGroup> groups;
    for (const Options& rule : rules()) groups.push_back({rule, {}});
    for (std::size_t i = 0; i < binding_.tensors.size(); ++i) {
      const Parameter& parameter = core().parameter(i);
      groups[core().group_of(i)].parameters.push_back(
          {parameter.name, detail::layout_text(parameter), binding_.tensors[i].state});
    }
    return groups;
  }

  /// Rebuilds the core if groups, tensors or their memory have changed: the base class adds groups
  /// without telling us, and anyone may give a tensor other memory or values.
  void update_binding() {
    at::NoGradGuard no_grad;
    if (!binding_.fits(param_groups_)) {
      binding_.check_devices();
      detail::Binding fresh = detail::bind(param_groups_, settings_);
      detail::carry_over(binding_, fresh);
      binding_ = std::move(fresh);
      state_.clear();
      for (const detail::BoundTensor& bound : binding_.tensors) {
        state_[state_key(bound.tensor)] = std::make_unique<ParamState>(bound.state);
      }
    }
    for (detail::BoundTensor& bound : binding_.tensors) detail::follow_weight(bound);
  }

  OptimizerOptions settings_;
  detail::Binding binding_;
};

}  // namespace trasmuon::libtorch
