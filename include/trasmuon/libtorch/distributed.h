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
  DType wire = DType::bf16;
  /// Replicated parameters: weights travel in pieces of this size, each while the next is computed.
  std::size_t bucket_bytes = std::size_t{25} << 20;
  /// If set, a rank whose exchange failed waits up to `patience` for the word of the others, and names those missing.
  c10::intrusive_ptr<c10d::Store> store = {};
  std::chrono::milliseconds patience{10'000};
};

/// An Optimizer over the ranks of a c10d group. Every rank builds it from the same groups, and makes the same calls.
///
/// Replicated: no parameter has a shard. Every rank has all weights and the same gradients. Each parameter has one
/// owner, which keeps its state and steps it; all ranks get its bytes, those of a single process.
///
/// Sharded by rows: parameter_of(groups, name).shard says which rows a tensor has. Each matrix is orthogonalized once;
/// statistics are those of the whole matrix. Parameters without a shard are stepped by every rank.
///
/// A step that throws Error has left weights and state of this rank as they were; applied() counts those that were
/// written. A failed exchange ends when the group's timeout does.
class DistributedOptimizer : public torch::optim::Optimizer {
 public:
  /// Groups without options use `defaults`. Throws Error on all ranks if one refuses, or if they do not agree.
  DistributedOptimizer(c10::intrusive_ptr<c10d::ProcessGroup> group, std::vector<OptimizerParamGroup> groups,
                       Options defaults = TrasMuonOptions{}, DistributedOptions options = {})
      : torch::optim::Optimizer(std::move(groups), std::make_unique<GroupOptions>(std::move(defaults))),
        ranks_(std::move(group), options.store, options.patience) {
    at::NoGradGuard no_grad;
    ranks_.begin("distributed optimizer");
    for (const OptimizerParamGroup& one : param_groups_) {
      if (!one.params().empty() && one.params()[0].is_cuda()) device_ = one.params()[0].device();
    }
    detail::ShardedEngine* sharded = nullptr;
    detail::together(ranks_, device_, [&] {
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
    for (const detail::BoundTensor& bound : engine_->tensors()) {
      if (!bound.state.empty()) state_[state_key(bound.tensor)] = std::make_unique<ParamState>(bound.state);
    }
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
    check_groups();
    engine_->core().set_options(rules());
    std::vector<torch::Tensor> gradients;
    for (const detail::BoundTensor& bound : engine_->tensors()) gradients.push_back(bound.tensor.grad());
    engine_->step(ranks_, std::move(gradients));
    ++applied_;
    return loss;
  }

  /// Number of steps that were written to the weights of this rank.
  std::int64_t applied() const { return applied_; }
  /// Who steps which parameter (replicated) or orthogonalizes which matrix (sharded).
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
