// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "trasmuon/agreement.h"
#include "trasmuon/libtorch/rank_engine.h"

namespace trasmuon::libtorch::detail {

/// Estimates the work of a step of one parameter, in multiplications.
inline double step_cost(const Parameter& p, const Options& options) {
  // Reading and writing weight, gradient and state of an element takes as long as about so many multiplications:
  // some 50 on CPUs, 2,000 on GPUs.
  constexpr double kPass = 500;
  const auto dims = p.weight.shape.dims();
  const double elements = static_cast<double>(p.weight.shape.elements());
  if (std::holds_alternative<AdamWOptions>(options) || dims.size() < 2) return kPass * elements;
  const bool batch = p.layout == Layout::batch || (p.layout == Layout::automatic && dims.size() == 3);
  const std::int64_t count = batch ? dims[0] : 1, rows = batch ? dims[1] : dims[0];
  const std::int64_t cols = p.weight.shape.elements() / std::max<std::int64_t>(1, count * rows);
  const std::int64_t m = p.transposed ? cols : rows, n = p.transposed ? rows : cols;
  constexpr int kSteps = 5;
  double cost = 0;
  for (const std::int64_t block : p.row_blocks.empty() ? std::vector{m} : p.row_blocks)
    cost += iteration_cost(block, n, kSteps);
  return kPass * elements + static_cast<double>(count) * cost;
}

/// Weights of one owner that travel together. Each starts at a multiple of 64 bytes.
struct Bucket {
  int owner = 0;
  torch::Device device = torch::kCPU;
  std::vector<std::size_t> parameters = {};
  std::vector<std::size_t> offsets = {};
  std::size_t bytes = 0;
  torch::Tensor buffer = {};  // of other ranks' buckets: only while a step runs
};

/// Parameters that every rank has whole, each stepped by its owner. A step writes new weights into buckets, and into
/// the weights when all buckets have arrived.
class ReplicatedEngine : public RankEngine {
 public:
  ReplicatedEngine(const std::vector<OptimizerParamGroup>& groups, OptimizerOptions settings, std::size_t bucket_bytes,
                   int rank, int ranks)
      : rank_(rank), ranks_(ranks), bucket_bytes_(bucket_bytes) {
    std::vector<Group> core_groups;
    std::vector<double> costs;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      core_groups.push_back({options_of(groups[g]).rule, parameters_of(groups[g], g)});
      for (const torch::Tensor& tensor : groups[g].params()) {
        binding_.tensors.push_back({tensor});
        if (tensor.is_cuda()) binding_.gpus.insert(tensor.device().index());
      }
      for (const Parameter& p : core_groups.back().parameters)
        costs.push_back(step_cost(p, core_groups.back().options));
    }
    ownership_ = assign_owners(costs, ranks);
    if (ranks > 1) fill_buckets();
    std::size_t i = 0;
    for (Group& group : core_groups) {
      for (Parameter& p : group.parameters) {
        if (const auto slot = slots_.find(i++); slot != slots_.end()) {
          p.weight.data = slot->second.data_ptr();
          p.weight.row_stride = 0;
        }
      }
    }
    settings.state = [this](std::size_t index, const StateSpec& spec) { return lend_state(index, spec); };
    binding_.core = std::make_unique<trasmuon::Optimizer>(std::move(core_groups), std::move(settings));
  }

  std::string describe() const override {
    return describe_table(core()) + "layout replicated\nbucket_bytes " + std::to_string(bucket_bytes_) + "\n";
  }
  const Ownership& ownership() const override { return ownership_; }
  bool owns(std::size_t index) const { return ownership_.owners[index] == rank_; }

  void step(Ranks& ranks, std::vector<torch::Tensor> gradients) override {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!owns(i)) gradients[i] = torch::Tensor();
    }
    const std::vector<TensorView> views = views_of(gradients);
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (owns(i)) follow_weight(binding_.tensors[i]);
    }
    if (ranks_ == 1) {
      core().step_on_streams(views, current_streams(binding_.gpus));
      for (std::size_t i = 0; i < views.size(); ++i) {
        if (views[i]) note_written(binding_.tensors[i]);
      }
      return;
    }
    keep_state();
    try {
      exchange(ranks, views);
    } catch (...) {
      for (auto& [own, kept] : kept_) own.copy_(kept);
      release();
      throw;
    }
    for (const Bucket& bucket : buckets_) {
      for (std::size_t k = 0; k < bucket.parameters.size(); ++k) {
        BoundTensor& bound = binding_.tensors[bucket.parameters[k]];
        bound.tensor.detach().copy_(slot_of(bucket, k));
        bound.version = bound.tensor._version();
      }
    }
    release();
  }

  StateTensors gather_state(Ranks& ranks, std::size_t index) override {
    StateTensors whole;
    for (const auto& state : core().state(index)) {
      torch::Tensor tensor = owns(index) ? tensors()[index].state.at(state.spec.name)
                                         : empty_state(index, state.spec, whole_shape(index, state.spec));
      if (ranks_ > 1) {
        ranks.broadcast(tensor, ownership_.owners[index],
                        "broadcast of state '" + state.spec.name + "' of '" + core().parameter(index).name + "'");
      }
      whole[state.spec.name] = tensor;
    }
    return whole;
  }

  void scatter_state(std::size_t index, const StateTensors& whole) override {
    if (!owns(index)) return;
    for (const auto& [name, tensor] : tensors()[index].state) tensor.copy_(whole.at(name));
  }

 private:
  static torch::Tensor bytes_on(torch::Device device, std::size_t count) {
    return torch::empty({static_cast<std::int64_t>(count)}, torch::TensorOptions(device).dtype(torch::kUInt8));
  }

  /// Distributes the parameters of each owner and device over buckets, in their order.
  void fill_buckets() {
    constexpr std::size_t kAlignment = 64;
    std::map<std::pair<int, std::string>, std::size_t> open;  // the bucket that an owner fills on a device
    for (std::size_t i = 0; i < tensors().size(); ++i) {
      const torch::Tensor& tensor = tensors()[i].tensor;
      const std::size_t bytes = (tensor.nbytes() + kAlignment - 1) / kAlignment * kAlignment;
      const std::pair key(ownership_.owners[i], text_of(tensor.device()));
      const auto found = open.find(key);
      if (found == open.end() || buckets_[found->second].bytes + bytes > bucket_bytes_) {
        open[key] = buckets_.size();
        buckets_.push_back({.owner = key.first, .device = tensor.device()});
      }
      Bucket& bucket = buckets_[open[key]];
      bucket.parameters.push_back(i);
      bucket.offsets.push_back(bucket.bytes);
      bucket.bytes += bytes;
    }
    for (Bucket& bucket : buckets_) {
      if (bucket.owner != rank_) continue;
      bucket.buffer = bytes_on(bucket.device, bucket.bytes);
      for (std::size_t k = 0; k < bucket.parameters.size(); ++k) slots_[bucket.parameters[k]] = slot_of(bucket, k);
    }
  }

  torch::Tensor slot_of(const Bucket& bucket, std::size_t k) const {
    const torch::Tensor& tensor = tensors()[bucket.parameters[k]].tensor;
    return torch::from_blob(static_cast<std::byte*>(bucket.buffer.data_ptr()) + bucket.offsets[k], tensor.sizes(),
                            torch::TensorOptions(tensor.device()).dtype(tensor.scalar_type()));
  }

  /// Lends memory for the state of what this rank owns. The core never touches other parameters' state, because it is
  /// never given their gradients: all of it is one piece of memory, as large as the largest.
  void* lend_state(std::size_t index, const StateSpec& spec) {
    const std::vector<std::int64_t> shape(spec.shape.dims().begin(), spec.shape.dims().end());
    if (owns(index)) {
      return binding_.tensors[index].state.emplace(spec.name, empty_state(index, spec, shape)).first->second.data_ptr();
    }
    const auto bytes = static_cast<std::size_t>(spec.shape.elements()) * size_of(spec.dtype);
    std::vector<torch::Tensor>& list = unused_[text_of(tensors()[index].tensor.device())];
    if (list.empty() || list.back().nbytes() < bytes) list.push_back(bytes_on(tensors()[index].tensor.device(), bytes));
    return list.back().data_ptr();
  }

  void keep_state() {
    if (kept_.empty()) {
      for (const BoundTensor& bound : tensors()) {
        for (const auto& [name, tensor] : bound.state) kept_.emplace_back(tensor, torch::empty_like(tensor));
      }
    }
    for (auto& [own, kept] : kept_) kept.copy_(own);
  }

  /// In each round every owner steps its next bucket, which travels while the bucket after it is computed.
  void exchange(Ranks& ranks, const std::vector<TensorView>& views) {
    std::vector<std::vector<Bucket*>> of_rank(static_cast<std::size_t>(ranks_));
    for (Bucket& bucket : buckets_) of_rank[static_cast<std::size_t>(bucket.owner)].push_back(&bucket);
    std::size_t rounds = 0;
    for (const auto& list : of_rank) rounds = std::max(rounds, list.size());
    std::vector<Ranks::Exchange> under_way;
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto& own = of_rank[static_cast<std::size_t>(rank_)];
      if (round < own.size()) compute(*own[round], views);
      for (const auto& list : of_rank) {
        if (round >= list.size()) continue;
        Bucket& bucket = *list[round];
        if (bucket.owner != rank_) bucket.buffer = bytes_on(bucket.device, bucket.bytes);
        under_way.push_back(ranks.start_broadcast(bucket.buffer, bucket.owner,
                                                  "broadcast of new weights from rank " + std::to_string(bucket.owner) +
                                                      " (from '" + core().parameter(bucket.parameters.front()).name +
                                                      "')"));
      }
    }
    for (const Ranks::Exchange& exchange : under_way) ranks.wait(exchange);
  }

  void compute(const Bucket& bucket, const std::vector<TensorView>& views) {
    std::vector<TensorView> of_bucket(views.size());
    for (const std::size_t i : bucket.parameters) {
      slots_.at(i).copy_(tensors()[i].tensor.detach());
      of_bucket[i] = views[i];
    }
    core().step_on_streams(of_bucket, current_streams(binding_.gpus));
  }

  void release() {
    for (Bucket& bucket : buckets_) {
      if (bucket.owner != rank_) bucket.buffer = torch::Tensor();
    }
  }

  int rank_, ranks_;
  std::size_t bucket_bytes_;
  Ownership ownership_;
  std::vector<Bucket> buckets_;
  std::map<std::size_t, torch::Tensor> slots_;                 // where the core finds the weights that this rank owns
  std::map<std::string, std::vector<torch::Tensor>> unused_;   // per device
  std::vector<std::pair<torch::Tensor, torch::Tensor>> kept_;  // state, and its values before the step
};

}  // namespace trasmuon::libtorch::detail
