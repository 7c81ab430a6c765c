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

/// The owner of parameters that every rank steps.
constexpr int kEveryRank = -1;

/// Estimates the work of a step of one parameter that is stepped as matrices, in multiplications.
inline double step_cost(const Parameter& p) {
  // Reading and writing weight, gradient and state of an element takes as long as about so many multiplications:
  // some 50 on CPUs, 2,000 on GPUs.
  constexpr double kPass = 500;
  const auto dims = p.weight.shape.dims();
  const double elements = static_cast<double>(p.weight.shape.elements());
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

/// Parameters that every rank has whole. Matrices are stepped by their owner, which writes the new weights into
/// buckets; they become the weights when all buckets have arrived everywhere. AdamW takes less time than its weights
/// would travel: every rank steps those parameters itself.
class ReplicatedEngine : public RankEngine {
 public:
  ReplicatedEngine(const std::vector<OptimizerParamGroup>& groups, OptimizerOptions settings, std::size_t bucket_bytes,
                   int rank, int ranks)
      : rank_(rank), ranks_(ranks), bucket_bytes_(bucket_bytes) {
    std::vector<Group> core_groups;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      core_groups.push_back({options_of(groups[g]).rule, parameters_of(groups[g], g)});
      for (const torch::Tensor& tensor : groups[g].params()) {
        binding_.tensors.push_back({tensor});
        if (tensor.is_cuda()) binding_.gpus.insert(tensor.device().index());
      }
    }
    assign(core_groups);
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

  void step(Ranks& ranks, const std::function<std::vector<torch::Tensor>()>& lend_gradients) override {
    std::vector<torch::Tensor> gradients;
    std::vector<TensorView> views;
    keeping_ = false;
    Statement statement = Statement::of([&] {
      gradients = lend_gradients();
      const std::string text = ranks_ > 1 && on_cpu() ? describe_step(gradients) : "";
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (!owns(i)) gradients[i] = torch::Tensor();
      }
      views = views_of(gradients);
      follow_tensors();
      if (ranks_ > 1) keep_state();
      return text;
    });
    if (ranks_ == 1 || !on_cpu()) statement.rethrow();
    try {
      if (ranks_ > 1) {
        exchange(ranks, views, statement);
        if (on_cpu()) settle(ranks, torch::kCPU, statement);
      }
      // Before buckets become weights: it may run out of memory, which changes nothing.
      for (const auto& [index, slot] : slots_) views[index] = {};
      core().step_on_streams(views, current_streams(binding_.gpus));
    } catch (...) {
      restore_state();
      release();
      throw;
    }
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (views[i]) note_written(binding_.tensors[i]);
    }
    take_buckets();
  }

  StateTensors gather_state(Ranks& ranks, std::size_t index) override {
    StateTensors whole;
    for (const auto& state : core().state(index)) {
      torch::Tensor tensor = owns(index) ? tensors()[index].state.at(state.spec.name)
                                         : empty_state(index, state.spec, whole_shape(index, state.spec));
      if (ranks_ > 1 && !on_every_rank(index)) {
        ranks.broadcast(bytes_of(tensor), ownership_.owners[index],
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
  bool owns(std::size_t index) const { return on_every_rank(index) || ownership_.owners[index] == rank_; }
  bool on_every_rank(std::size_t index) const override { return ownership_.owners[index] == kEveryRank; }
  bool on_cpu() const { return binding_.gpus.empty(); }

  void assign(const std::vector<Group>& groups) {
    std::vector<double> costs;
    std::vector<bool> everywhere;
    for (const Group& group : groups) {
      for (const Parameter& p : group.parameters) {
        everywhere.push_back(std::holds_alternative<AdamWOptions>(group.options));
        costs.push_back(everywhere.back() ? 0 : step_cost(p));
      }
    }
    ownership_ = assign_owners(costs, ranks_);
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (everywhere[i]) ownership_.owners[i] = kEveryRank;
    }
  }

  static torch::Tensor bytes_on(torch::Device device, std::size_t count) {
    return torch::empty({static_cast<std::int64_t>(count)}, torch::TensorOptions(device).dtype(torch::kUInt8));
  }

  /// Distributes the parameters of each owner and device over buckets, in their order.
  void fill_buckets() {
    constexpr std::size_t kAlignment = 64;
    std::map<std::pair<int, std::string>, std::size_t> open;  // the bucket that an owner fills on a device
    for (std::size_t i = 0; i < tensors().size(); ++i) {
      if (on_every_rank(i)) continue;
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
    const torch::Device device = tensors()[index].tensor.device();
    std::vector<torch::Tensor>& list = unused_[text_of(device)];
    if (list.empty()) list.push_back(bytes_on(device, most_state(device)));
    if (list.back().nbytes() < bytes) list.push_back(bytes_on(device, bytes));
    return list.back().data_ptr();
  }

  /// Bytes of the largest momentum or master of another rank's parameter; other state is hardly ever larger.
  std::size_t most_state(torch::Device device) const {
    std::size_t most = 0;
    for (std::size_t i = 0; i < tensors().size(); ++i) {
      const torch::Tensor& tensor = tensors()[i].tensor;
      if (owns(i) || tensor.device() != device) continue;
      most = std::max(most, static_cast<std::size_t>(tensor.numel()) * std::max<std::size_t>(4, tensor.element_size()));
    }
    return most;
  }

  /// Weights that this rank steps in place may have been given other memory, and masters other values.
  void follow_tensors() {
    for (std::size_t i = 0; i < tensors().size(); ++i) {
      if (!owns(i)) continue;
      if (!slots_.contains(i)) rebind(i);
      follow_weight(binding_.tensors[i]);
    }
  }

  void keep_state() {
    if (kept_.empty()) {
      for (const auto& [index, slot] : slots_) {
        for (const auto& [name, tensor] : tensors()[index].state) kept_.emplace_back(tensor, torch::empty_like(tensor));
      }
    }
    for (auto& [own, kept] : kept_) kept.copy_(own);
    keeping_ = true;
  }

  void restore_state() {
    if (keeping_) {
      for (auto& [own, kept] : kept_) own.copy_(kept);
    }
    keeping_ = false;
  }

  /// In each round every owner steps its next bucket, which travels while the bucket after it is computed. A rank that
  /// cannot go on says so in `statement` and sends its buckets as they are: the others wait for them.
  void exchange(Ranks& ranks, const std::vector<TensorView>& views, Statement& statement) {
    std::vector<std::vector<Bucket*>> of_rank(static_cast<std::size_t>(ranks_));
    for (Bucket& bucket : buckets_) of_rank[static_cast<std::size_t>(bucket.owner)].push_back(&bucket);
    std::size_t rounds = 0;
    for (const auto& list : of_rank) rounds = std::max(rounds, list.size());
    std::vector<Ranks::Exchange> under_way;
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto& own = of_rank[static_cast<std::size_t>(rank_)];
      if (round < own.size() && !statement.failure) {
        try {
          compute(*own[round], views);
        } catch (const std::exception& error) {
          if (!on_cpu()) throw;
          statement.fail(error);
        }
      }
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

  void take_buckets() {
    for (const Bucket& bucket : buckets_) {
      for (std::size_t k = 0; k < bucket.parameters.size(); ++k) {
        BoundTensor& bound = binding_.tensors[bucket.parameters[k]];
        bound.tensor.detach().copy_(slot_of(bucket, k));
        bound.version = bound.tensor._version();
      }
    }
    release();
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
  bool keeping_ = false;                                       // since the step under way has begun
};

}  // namespace trasmuon::libtorch::detail
