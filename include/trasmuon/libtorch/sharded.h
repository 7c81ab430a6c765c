// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "trasmuon/agreement.h"
#include "trasmuon/libtorch/agree.h"
#include "trasmuon/libtorch/rank_engine.h"
#include "trasmuon/sharded_step.h"

namespace trasmuon::libtorch::detail {

/// Parameters that hold consecutive rows on each rank, driven through a ShardedStep.
class ShardedEngine : public RankEngine {
 public:
  ShardedEngine(const std::vector<OptimizerParamGroup>& groups, OptimizerOptions settings, DType wire) : wire_(wire) {
    binding_ = bind(groups, std::move(settings));
  }

  std::string describe() const override {
    return describe_table(core()) + "layout sharded\nwire " + to_string(wire_) + "\n";
  }
  const Ownership& ownership() const override { return step_->ownership(); }

  /// Exchanges the numbers of rows; every rank must call it once.
  void connect(Ranks& ranks, torch::Device device) {
    const auto parameters = static_cast<std::int64_t>(tensors().size());
    torch::Tensor rows = torch::zeros({ranks.count(), parameters}, torch::kInt64);
    for (std::int64_t p = 0; p < parameters; ++p) {
      const torch::Tensor& tensor = tensors()[static_cast<std::size_t>(p)].tensor;
      rows[ranks.rank()][p] = tensor.dim() == 0 ? 1 : tensor.size(0);
    }
    rows = rows.to(device);
    ranks.all_reduce(rows, "all-reduce of the numbers of rows");
    rows = rows.cpu().contiguous();
    const auto* first = rows.data_ptr<std::int64_t>();
    rows_.assign(first, first + rows.numel());
    rank_ = ranks.rank();
    together(ranks, device, [&] {
      step_.emplace(core(), ShardedStepOptions{.rank = rank_, .ranks = ranks.count(), .rows = rows_, .wire = wire_});
      return std::string();
    });
  }

  void step(Ranks& ranks, const std::function<std::vector<torch::Tensor>()>& lend_gradients) override {
    const torch::Device device = cut_device();
    const ExchangeSizes& sizes = step_->sizes();
    const auto doubles = static_cast<std::int64_t>(sizes.sums);
    // The votes travel with the sums. On GPUs nobody votes: the host would have to wait for the answer.
    const std::int64_t votes = device.is_cuda() ? 0 : ranks.count();
    const torch::Tensor packed = torch::zeros({doubles + votes}, torch::TensorOptions(device).dtype(torch::kFloat64));
    const torch::Tensor sums = packed.narrow(0, 0, doubles);
    void* stream = stream_of(device);
    std::vector<torch::Tensor> gradients;  // copies of those that are not contiguous live here
    std::vector<TensorView> views;
    Buffers buffers;
    try {
      const Statement statement = Statement::of([&] {
        gradients = lend_gradients();
        views = views_of(gradients);
        follow_tensors();
        buffers = Buffers(sizes, device);
        step_->momentum(views, span_of<double>(sums), stream);
        return votes > 0 ? describe_step(gradients) : "";
      });
      if (votes == 0) {
        statement.rethrow();
        if (doubles > 0) ranks.all_reduce(packed, "all-reduce of column energies");
      } else {
        packed[doubles + ranks.rank()] = statement.vote();
        ranks.all_reduce(packed, "all-reduce of column energies");
        settle(ranks, device, statement, packed.data_ptr<double>() + doubles);
      }
      go_on(ranks, sums, buffers, stream);
    } catch (...) {
      step_->cancel();
      throw;
    }
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (views[i]) note_written(binding_.tensors[i]);
    }
  }

  StateTensors gather_state(Ranks& ranks, std::size_t index) override {
    StateTensors whole;
    for (const auto& state : core().state(index)) {
      const torch::Tensor& own = tensors()[index].state.at(state.spec.name);
      if (!is_cut(index, state.spec.name)) {
        whole[state.spec.name] = own;
        continue;
      }
      torch::Tensor tensor = empty_state(index, state.spec, whole_shape(index, state.spec));
      for (int r = 0; r < ranks.count(); ++r) {
        const auto [first, count] = range_of(index, state.spec, r);
        if (count == 0) continue;
        const torch::Tensor part = tensor.narrow(0, first, count);
        if (r == ranks.rank()) part.copy_(own);
        ranks.broadcast(bytes_of(part), r,
                        "broadcast of state '" + state.spec.name + "' of '" + core().parameter(index).name +
                            "' from rank " + std::to_string(r));
      }
      whole[state.spec.name] = tensor;
    }
    return whole;
  }

  void scatter_state(std::size_t index, const StateTensors& whole) override {
    for (const auto& state : core().state(index)) {
      const torch::Tensor& own = tensors()[index].state.at(state.spec.name);
      const torch::Tensor& from = whole.at(state.spec.name);
      if (!is_cut(index, state.spec.name)) {
        own.copy_(from);
        continue;
      }
      const auto [first, count] = range_of(index, state.spec, rank_);
      own.copy_(from.narrow(0, first, count));
    }
  }

  std::vector<std::int64_t> whole_shape(std::size_t index, const StateSpec& spec) const override {
    std::vector<std::int64_t> dims(spec.shape.dims().begin(), spec.shape.dims().end());
    if (is_cut(index, spec.name)) dims[0] = per_row(index, spec) * core().parameter(index).shard->total_rows;
    return dims;
  }

 private:
  /// Entries along the first dimension of a state tensor.
  struct RowRange {
    std::int64_t first = 0, count = 0;
  };

  /// What travels in a step after the sums.
  struct Buffers {
    Buffers() = default;
    Buffers(const ExchangeSizes& sizes, torch::Device device) {
      const auto tensor = [&](std::size_t count, torch::ScalarType type) {
        return torch::empty({static_cast<std::int64_t>(count)}, torch::TensorOptions(device).dtype(type));
      };
      const auto both = tensor(std::max(sizes.rows(), sizes.returned()), torch::kUInt8);
      rows = both.narrow(0, 0, static_cast<std::int64_t>(sizes.rows()));
      returned = both.narrow(0, 0, static_cast<std::int64_t>(sizes.returned()));
      gathered = tensor(sizes.gathered(), torch::kUInt8);
      directions = tensor(sizes.directions(), torch::kUInt8);
      norms = tensor(sizes.norms, torch::kFloat64);
    }
    torch::Tensor rows, returned;  // share memory: rows have left when the answers come
    torch::Tensor gathered, directions, norms;
  };

  /// All phases after the first, with the sums of all ranks.
  void go_on(Ranks& ranks, const torch::Tensor& sums, Buffers& b, void* stream) {
    const ExchangeSizes& sizes = step_->sizes();
    const bool travels = ownership().idle < static_cast<int>(ownership().loads.size());  // somebody owns a matrix
    step_->pack(span_of<double>(sums), span_of<std::byte>(b.rows), stream);
    if (travels)
      ranks.all_to_all(b.rows, sizes.to_owners, b.gathered, sizes.from_holders, "all-to-all of momentum rows");
    step_->orthogonalize(span_of<std::byte>(b.gathered), span_of<std::byte>(b.directions), stream);
    if (travels)
      ranks.all_to_all(b.directions, sizes.to_holders, b.returned, sizes.from_owners, "all-to-all of directions");
    step_->row_scale(span_of<std::byte>(b.returned), span_of<double>(b.norms), stream);
    if (sizes.norms > 0) ranks.all_reduce(b.norms, "all-reduce of norms");
    step_->apply(span_of<double>(b.norms), stream);
  }

  bool on_every_rank(std::size_t index) const override { return !core().parameter(index).shard; }

  /// Whether the weight is a batch of matrices that is cut between them.
  bool is_batch(std::size_t index) const {
    const Parameter& p = core().parameter(index);
    if (std::holds_alternative<AdamWOptions>(core().options(core().group_of(index)))) return false;
    return p.layout == Layout::batch || (p.layout == Layout::automatic && p.weight.shape.rank() == 3);
  }
  /// Whether a state tensor is cut like the weight; the others are the same on all ranks.
  bool is_cut(std::size_t index, const std::string& name) const {
    static const std::set<std::string> kLikeWeight{"momentum", "v_row", "master", "exp_avg", "exp_avg_sq"};
    return core().parameter(index).shard && (is_batch(index) || kLikeWeight.contains(name));
  }
  /// Entries along the first dimension of a state tensor for each row of the weight.
  std::int64_t per_row(std::size_t index, const StateSpec& spec) const {
    const Parameter& p = core().parameter(index);
    if (!is_batch(index) || spec.shape.rank() == p.weight.shape.rank()) return 1;
    if (spec.name == "v_row") return p.weight.shape[p.transposed ? 2 : 1];
    return p.row_blocks.empty() ? 1 : static_cast<std::int64_t>(p.row_blocks.size());
  }
  RowRange range_of(std::size_t index, const StateSpec& spec, int rank) const {
    const std::int64_t each = per_row(index, spec);
    RowRange range;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rank); ++r) range.first += rows_[r * tensors().size() + index];
    range.count = rows_[static_cast<std::size_t>(rank) * tensors().size() + index] * each;
    range.first *= each;
    return range;
  }

  /// Points the core at memory that tensors were given since the last step, and masters at other values.
  void follow_tensors() {
    for (std::size_t i = 0; i < tensors().size(); ++i) {
      rebind(i);
      follow_weight(binding_.tensors[i]);
    }
  }

  torch::Device cut_device() const {
    for (std::size_t i = 0; i < tensors().size(); ++i) {
      if (core().parameter(i).shard) return tensors()[i].tensor.device();
    }
    return tensors()[0].tensor.device();
  }
  void* stream_of(torch::Device device) const {
    if (!device.is_cuda()) return nullptr;
    return current_streams({device.index()}).at(static_cast<std::size_t>(device.index()));
  }
  template <class T>
  static std::span<T> span_of(const torch::Tensor& tensor) {
    return {static_cast<T*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.numel())};
  }

  DType wire_;
  int rank_ = 0;
  std::vector<std::int64_t> rows_;  // of every parameter on every rank: entry r * parameters + p
  std::optional<ShardedStep> step_;
};

}  // namespace trasmuon::libtorch::detail
