// SPDX-License-Identifier: Apache-2.0
#include "cuda/plan.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace trasmuon::cuda {
namespace {

/// A large device gives more for fewer batches.
std::size_t scratch_limit(const DeviceInfo& device) { return std::max(kScratchLimit, device.memory / 16); }

IterationPlan iteration_of(const Matrix& x, const Plan& step, const DeviceInfo& device) {
  const OrthogonalizeStage* stage = orthogonalization_of(step);
  return stage != nullptr ? plan_iteration(*stage, x.compute, std::min(x.m, x.n), device)
                          : IterationPlan{.dtype = x.compute};
}

}  // namespace

GroupPlan::GroupPlan(const DeviceInfo& device, std::span<const Matrix> group, Plan step) : step_(std::move(step)) {
  make_batches(device, group);
  for (auto& batch : batches_) batch->make_buckets(group, step_);
  take_scratch(device, group);
  for (auto& batch : batches_) batch->make_tables(scalars_.get());
  // The tables were written on the default stream, for which the caller's stream need not wait.
  check(cudaDeviceSynchronize(), "writing the tables");
}

/// Sorts the matrices by types and iteration, then by shape; begins a batch where types or iteration change or scratch
/// runs out.
void GroupPlan::make_batches(const DeviceInfo& device, std::span<const Matrix> group) {
  const auto batch_key = [&](std::size_t i) {
    return std::tuple(iteration_of(group[i], step_, device).key(), group[i].compute, group[i].momentum.dtype);
  };
  const auto key = [&](std::size_t i) {
    const Matrix& x = group[i];
    return std::tuple(batch_key(i), x.transposed, x.weight.rows, x.weight.cols);
  };
  std::vector<std::size_t> order(group.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::size_t filled = 0, previous = 0;
  for (std::size_t i : order) {
    const IterationPlan iteration = iteration_of(group[i], step_, device);
    const std::size_t bytes = MatrixBatch::scratch_bytes(group[i], step_, iteration);
    if (batches_.empty() || batch_key(previous) != batch_key(i) || filled + bytes > scratch_limit(device)) {
      batches_.push_back(std::make_unique<MatrixBatch>(iteration, group[i].compute, group[i].momentum.dtype));
      filled = 0;
    }
    batches_.back()->add(i);
    filled += bytes;
    previous = i;
  }
}

/// Batches run one after the other and share the scratch. With diagnostics, which are computed from the scratch after
/// the step, each has its own.
void GroupPlan::take_scratch(const DeviceInfo& device, std::span<const Matrix> group) {
  const bool keep_scratch = group.front().diagnostics != nullptr;
  std::vector<std::size_t> offsets;
  std::size_t total = 0;
  for (auto& batch : batches_) {
    const std::size_t bytes = Arena::aligned(batch->scratch_bytes(group, step_, device));
    offsets.push_back(keep_scratch ? total : 0);
    total = keep_scratch ? total + bytes : std::max(total, bytes);
  }
  scratch_ = DeviceMemory(total);
  for (std::size_t k = 0; k < batches_.size(); ++k) {
    Arena arena(scratch_.data() + offsets[k]);
    batches_[k]->take_scratch(group, step_, device, arena);
    if (offsets[k] + arena.used() > scratch_.bytes()) throw Error("cuda: scratch counted too small");
  }
}

void GroupPlan::refresh(std::span<const Matrix> group, const StepScalars& scalars, cudaStream_t stream) {
  for (auto& batch : batches_) batch->refresh(group, stream);
  scalars_.refresh(scalars, stream);
}

std::vector<StepTables> GroupPlan::tables() const {
  std::vector<StepTables> tables;
  for (const auto& batch : batches_) tables.push_back(batch->tables());
  return tables;
}

}  // namespace trasmuon::cuda
