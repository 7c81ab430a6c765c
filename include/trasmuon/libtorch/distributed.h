// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trasmuon/libtorch/agree.h"
#include "trasmuon/libtorch/archive.h"
#include "trasmuon/libtorch/compat.h"
#include "trasmuon/libtorch/groups.h"
#include "trasmuon/libtorch/optimizer.h"
#include "trasmuon/libtorch/replicated.h"
#include "trasmuon/libtorch/sharded.h"

namespace trasmuon::libtorch {

struct DistributedOptions {
  bool master_weights = false;  ///< keep f32 copies of bf16 and f16 weights in the state
  /// Sharded parameters: type in which rows travel to their owner and back. Rows of f64 weights travel as f64.
  DType wire = DType::f16;
  /// Replicated parameters: weights travel in pieces of this size, each while the next is computed.
  std::size_t bucket_bytes = std::size_t{25} << 20;
  /// If set, a rank whose exchange failed waits up to `patience` for the other ranks' reports in the store, and names
  /// those missing.
  c10::intrusive_ptr<c10d::Store> store = {};
  std::chrono::milliseconds patience{10'000};
};

/// An Optimizer over the ranks of a c10d group. Every rank builds it from the same groups, and makes the same calls.
///
/// Replicated: no parameter has a shard. Every rank has all weights and the same gradients. Each matrix has one owner,
/// which keeps its state and steps it; all ranks get its bytes, those of a single process. Parameters of AdamW, whose
/// step is cheap, are stepped by every rank.
///
/// Sharded by rows: parameter_of(groups, name).shard says which rows a tensor has. Each matrix is orthogonalized once;
/// statistics are those of the whole matrix. Parameters without a shard are stepped by every rank.
///
/// A step that throws has left weights and state of this rank as they were; applied() counts those that were written.
/// A failed exchange ends when the group's timeout does; then build a new group.
class DistributedOptimizer : public torch::optim::Optimizer {
 public:
  /// `group` is a c10d::ProcessGroup or one of its backends (ProcessGroupGloo, ProcessGroupNCCL). Groups of parameters
  /// without options use `defaults`. Throws Error on all ranks if one refuses, or if they do not agree.
  template <class Group>
  DistributedOptimizer(const c10::intrusive_ptr<Group>& group, const std::vector<OptimizerParamGroup>& groups,
                       Options defaults = TrasMuonOptions{}, DistributedOptions options = {})
      : torch::optim::Optimizer(std::vector<OptimizerParamGroup>{},
                                std::make_unique<GroupOptions>(std::move(defaults))),
        ranks_(detail::Collectives(group), options.store, options.patience) {
    build(groups, options);
  }

  /// Steps every parameter that has a gradient. Every rank must call it.
  torch::Tensor step(LossClosure closure = nullptr) override {
    at::NoGradGuard no_grad;
    torch::Tensor loss;
    if (closure) {
      at::AutoGradMode enable_grad(true);
      loss = closure();
    }
    ranks_.begin("step " + std::to_string(applied_ + 1));
    engine_->step(ranks_, [&] {
      check_groups();
      engine_->core().set_options(rules());
      std::vector<torch::Tensor> gradients;
      for (const detail::BoundTensor& bound : engine_->tensors()) gradients.push_back(bound.tensor.grad());
      return gradients;
    });
    ++applied_;
    return loss;
  }

  /// Number of steps that were written to the weights of this rank: tells, after an error, whether weights are those
  /// before or after the step.
  std::int64_t applied() const { return applied_; }
  /// Who steps which parameter (replicated; -1: every rank) or orthogonalizes which matrix (sharded).
  const Ownership& ownership() const { return engine_->ownership(); }
  /// Returns the rule and fields of a group, which must be the same on all ranks. Changes take effect in the next step.
  Options& options(std::size_t group = 0) { return options_of(param_groups_.at(group)).rule; }

  /// Gathers the whole state and writes it on every rank, in the format of Optimizer: any number of ranks can load it.
  /// Every rank must call it; one of them then writes the file.
  void save(torch::serialize::OutputArchive& archive) const override {
    at::NoGradGuard no_grad;
    ranks_.begin("save after step " + std::to_string(applied_));
    std::vector<detail::SavedGroup> groups = contents();
    for (std::size_t i = 0, g = 0, k = 0; i < engine_->tensors().size(); ++i, ++k) {
      for (; k == groups[g].parameters.size(); ++g) k = 0;
      for (auto& [name, tensor] : engine_->gather_state(ranks_, i)) groups[g].parameters[k].state[name] = tensor.cpu();
    }
    detail::write(archive, groups);
  }

  /// Restores state and options from an archive of save() or of an Optimizer with the same parameters and rules. Every
  /// rank must call it; if one refuses, none changes.
  void load(torch::serialize::InputArchive& archive) override {
    at::NoGradGuard no_grad;
    ranks_.begin("load");
    std::vector<detail::SavedGroup> saved;
    detail::together(ranks_, device_, [&] {
      saved = detail::read_groups(archive);
      detail::check_fit(contents(), saved);
      std::vector<Options> saved_rules;
      for (const detail::SavedGroup& group : saved) saved_rules.push_back(group.options);
      const std::vector<Options> before = rules();
      engine_->core().set_options(saved_rules);
      engine_->core().set_options(before);
      return std::string();
    });
    std::size_t i = 0;
    for (std::size_t g = 0; g < saved.size(); ++g) {
      options(g) = saved[g].options;
      for (const detail::SavedParameter& parameter : saved[g].parameters) engine_->scatter_state(i++, parameter.state);
    }
    engine_->core().set_options(rules());
  }

 private:
  void build(const std::vector<OptimizerParamGroup>& groups, const DistributedOptions& options) {
    at::NoGradGuard no_grad;
    ranks_.begin("distributed optimizer");
    for (const OptimizerParamGroup& one : groups) {
      if (!one.params().empty() && one.params()[0].is_cuda()) device_ = one.params()[0].device();
    }
    detail::ShardedEngine* sharded = nullptr;
    detail::together(ranks_, device_, [&] {
      for (const OptimizerParamGroup& one : groups) add_group(*this, one);  // may refuse, as everything here
      OptimizerOptions settings{.master_weights = options.master_weights};
      if (has_shards()) {
        engine_ = std::make_unique<detail::ShardedEngine>(param_groups_, settings, options.wire);
        sharded = static_cast<detail::ShardedEngine*>(engine_.get());
      } else {
        engine_ = std::make_unique<detail::ReplicatedEngine>(param_groups_, settings, options.bucket_bytes,
                                                             ranks_.rank(), ranks_.count());
      }
      return engine_->describe();
    });
    if (sharded != nullptr) sharded->connect(ranks_, device_);
    // A number that only this optimizer has.
    const auto now = static_cast<std::int64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    const torch::Tensor name = torch::full({1}, now, torch::kInt64).to(device_);
    ranks_.broadcast(name, 0, "broadcast of the optimizer's name");
    ranks_.set_name(name.item<std::int64_t>());
    for (const detail::BoundTensor& bound : engine_->tensors()) {
      if (!bound.state.empty()) state_[state_key(bound.tensor)] = std::make_unique<ParamState>(bound.state);
    }
  }

  bool has_shards() const {
    return std::any_of(param_groups_.begin(), param_groups_.end(), [](const OptimizerParamGroup& one) {
      const std::vector<Parameter>& list = options_of(one).parameters;
      return std::any_of(list.begin(), list.end(), [](const Parameter& p) { return p.shard.has_value(); });
    });
  }

  /// The tensors must be those of the constructor: the others' buffers fit them.
  void check_groups() const {
    std::size_t i = 0;
    const std::vector<detail::BoundTensor>& tensors = engine_->tensors();
    for (const OptimizerParamGroup& one : param_groups_) {
      for (const torch::Tensor& tensor : one.params()) {
        const bool same = i < tensors.size() && tensor.is_same(tensors[i].tensor);
        if (!same) throw Error("distributed optimizer: groups must stay as they were at construction");
        ++i;
      }
    }
    if (i != tensors.size()) throw Error("distributed optimizer: groups must stay as they were at construction");
  }

  std::vector<Options> rules() const {
    std::vector<Options> list;
    for (const OptimizerParamGroup& one : param_groups_) list.push_back(options_of(one).rule);
    return list;
  }

  /// Names, layouts and shapes, without values.
  std::vector<detail::SavedGroup> contents() const {
    std::vector<detail::SavedGroup> groups;
    for (const Options& rule : rules()) groups.push_back({rule, {}});
    for (std::size_t i = 0; i < engine_->tensors().size(); ++i) {
      const Parameter& parameter = engine_->core().parameter(i);
      groups[engine_->core().group_of(i)].parameters.push_back(
          {parameter.name, detail::layout_text(parameter), engine_->expected_state(i)});
    }
    return groups;
  }

  mutable detail::Ranks ranks_;
  torch::Device device_ = torch::kCPU;
  std::unique_ptr<detail::RankEngine> engine_;
  std::int64_t applied_ = 0;
};

}  // namespace trasmuon::libtorch
