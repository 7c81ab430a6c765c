// SPDX-License-Identifier: Apache-2.0
#include "cuda/cut_owner.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "cuda/runtime/check.h"
#include "cuda/runtime/rounding.h"

namespace trasmuon::cuda {
namespace {

IterationPlan iteration_of(const CutMatrix& x, const DeviceInfo& device) {
  return plan_iteration(*x.plan->orthogonalize, x.rows->compute, std::min(x.m(), x.n()), device);
}

}  // namespace

CutOwner::CutOwner(const DeviceInfo& device, const CutStep& step, const std::vector<const StepScalars*>& scalars) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < step.matrices.size(); ++i) {
    if (step.matrices[i].owned && step.matrices[i].dion == nullptr) order.push_back(i);
  }
  const auto batch_key = [&](std::size_t i) {
    const CutMatrix& x = step.matrices[i];
    return std::tuple(scalars[i], iteration_of(x, device).key(), x.rows->compute, x.wire);
  };
  const auto key = [&](std::size_t i) { return std::tuple(batch_key(i), step.matrices[i].m(), step.matrices[i].n()); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::size_t previous = 0, filled = 0;
  for (const std::size_t i : order) {
    const CutMatrix& x = step.matrices[i];
    // The iterates and about as much for the iteration itself.
    const std::size_t bytes = 3 * static_cast<std::size_t>(x.m() * aligned_stride(x.n())) * size_of(x.rows->compute);
    if (batches_.empty() || batch_key(previous) != batch_key(i) || filled + bytes > kScratchLimit) {
      Batch& batch = batches_.emplace_back();
      batch.plan = iteration_of(x, device);
      batch.tables.scalars = scalars[i];
      batch.tables.compute = x.rows->compute;
      batch.tables.wire = x.wire;
      batch.tables.iterate = batch.plan.dtype;
      batch.tables.scale = batch.plan.input_scale();
      filled = 0;
    }
    batches_.back().matrices.push_back(&x);
    filled += bytes;
    previous = i;
  }
  std::size_t largest = 0;
  for (const Batch& batch : batches_) largest = std::max(largest, scratch_bytes(batch, device));
  scratch_ = DeviceMemory(largest);
  for (Batch& batch : batches_) {
    Arena arena(scratch_.data());
    const std::vector<Bucket> buckets = buckets_of(batch, arena);
    batch.iteration = batch.plan.make(buckets, *batch.matrices.front()->plan->orthogonalize, device, arena);
    if (arena.used() > scratch_.bytes()) throw Error("cuda: scratch counted too small");
    make_chunks(batch, buckets);
  }
}

/// Iterates of matrices of one shape lie one after the other.
std::vector<Bucket> CutOwner::buckets_of(const Batch& batch, Arena& arena) {
  std::vector<Bucket> buckets;
  for (const CutMatrix* x : batch.matrices) {
    const int rows = static_cast<int>(x->m()), cols = static_cast<int>(x->n());
    if (buckets.empty() || buckets.back().rows != rows || buckets.back().cols != cols) {
      buckets.push_back({.rows = rows,
                         .cols = cols,
                         .row_stride = aligned_stride(cols),
                         .in_place = batch.plan.in_place(*x->plan->orthogonalize)});
    }
    ++buckets.back().batch;
  }
  for (Bucket& b : buckets) {
    const std::size_t bytes = static_cast<std::size_t>(b.batch) * static_cast<std::size_t>(b.rows) *
                              static_cast<std::size_t>(b.row_stride) * size_of(batch.plan.dtype);
    b.x = arena.take_bytes(bytes);
    b.o = b.in_place ? b.x : arena.take_bytes(bytes);
  }
  return buckets;
}

std::size_t CutOwner::scratch_bytes(const Batch& batch, const DeviceInfo& device) {
  Arena counter;
  const std::vector<Bucket> buckets = buckets_of(batch, counter);
  return Arena::aligned(counter.used() + batch.plan.scratch_bytes(buckets, device));
}

void CutOwner::make_chunks(Batch& batch, const std::vector<Bucket>& buckets) {
  std::vector<OwnedChunk> chunks;
  std::size_t next = 0;
  for (const Bucket& b : buckets) {
    const std::size_t row = static_cast<std::size_t>(b.row_stride) * size_of(batch.plan.dtype);
    for (int k = 0; k < b.batch; ++k) {
      const CutMatrix& x = *batch.matrices[next++];
      for (const PackedRows& rows : x.gathered) {
        for (std::int64_t i = 0; i < rows.count; i += kChunkRows) {
          const auto at = static_cast<std::size_t>(std::int64_t{k} * b.rows + rows.first + i) * row;
          const std::size_t before = static_cast<std::size_t>(i * x.n()) * size_of(x.wire);
          chunks.push_back({.offset = rows.offset + before,
                            .answer = rows.answer + before,
                            .x = static_cast<std::byte*>(b.x) + at,
                            .o = static_cast<std::byte*>(b.o) + at,
                            .sums = x.sums,
                            .m = x.m(),
                            .rows = static_cast<int>(std::min<std::int64_t>(kChunkRows, rows.count - i)),
                            .cols = b.cols,
                            .row_stride = b.row_stride});
        }
      }
    }
  }
  batch.chunks = uploaded(chunks);
  batch.tables.chunks = batch.chunks.as<const OwnedChunk>();
  batch.tables.chunk_count = static_cast<int>(chunks.size());
}

void CutOwner::enqueue(const CutBuffers& buffers, cudaStream_t stream) const {
  for (const Batch& batch : batches_) {
    enqueue_owned_load(batch.tables, buffers.gathered, buffers.sums, stream);
    if (batch.iteration != nullptr) batch.iteration->enqueue(stream);  // eq:ns_main
    enqueue_owned_store(batch.tables, buffers.directions, stream);
  }
}

}  // namespace trasmuon::cuda
