// SPDX-License-Identifier: Apache-2.0
#include "cuda/orthogonalize.h"

#include <algorithm>
#include <vector>

#include "cuda/newton_schulz/iteration_plan.h"
#include "cuda/passes/load_store.h"
#include "cuda/runtime/capture.h"
#include "cuda/runtime/check.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/rounding.h"
#include "stages/arena.h"

namespace trasmuon::cuda {
namespace {

/// The device memory of `count` matrices of one shape that are orthogonalized at once, taken from an arena.
struct OrthogonalizeBatch {
  Bucket bucket;
  LoadStoreMatrix* table = nullptr;
  double *squares = nullptr, *largest = nullptr;
  std::size_t parts = 0;  ///< per matrix

  OrthogonalizeBatch(const MatrixView& shape, std::size_t count, const IterationPlan& plan,
                     const OrthogonalizeStage& stage, Arena& arena) {
    const int rows = static_cast<int>(shape.rows), cols = static_cast<int>(shape.cols);
    bucket = {.rows = rows,
              .cols = cols,
              .batch = static_cast<int>(count),
              .row_stride = aligned_stride(cols),
              .in_place = plan.in_place(stage)};
    const std::size_t bytes =
        count * static_cast<std::size_t>(rows) * static_cast<std::size_t>(bucket.row_stride) * size_of(plan.dtype);
    bucket.x = arena.take_bytes(bytes);
    bucket.o = bucket.in_place ? bucket.x : arena.take_bytes(bytes);
    parts = static_cast<std::size_t>(ceil_div(rows, kChunkRows));
    table = arena.take<LoadStoreMatrix>(count);
    squares = arena.take<double>(count * parts);
    largest = arena.take<double>(count * parts);
  }
};

std::size_t bytes_of(const MatrixView& shape, std::size_t count, const IterationPlan& plan,
                     const OrthogonalizeStage& stage, const DeviceInfo& device) {
  Arena counter;
  const OrthogonalizeBatch batch(shape, count, plan, stage, counter);
  return counter.used() + plan.scratch_bytes({batch.bucket}, device);
}

void orthogonalize_batch(const DeviceInfo& device, std::span<const MatrixView> in, std::span<const MatrixView> out,
                         const OrthogonalizeStage& stage, const IterationPlan& plan, cudaStream_t stream) {
  const std::size_t count = in.size();
  const DeviceMemory memory(bytes_of(in[0], count, plan, stage, device));
  Arena arena(memory.data());
  const OrthogonalizeBatch batch(in[0], count, plan, stage, arena);
  const auto iteration = plan.make({batch.bucket}, stage, device, arena);
  if (arena.used() > memory.bytes()) throw Error("cuda: scratch counted too small");
  // The iteration's tables were written on the default stream, for which the caller's stream need not wait.
  check(cudaDeviceSynchronize(), "writing the tables");

  std::vector<LoadStoreMatrix> table;
  for (std::size_t i = 0; i < count; ++i) {
    table.push_back({{in[i].data, in[i].row_stride, in[i].dtype},
                     {out[i].data, out[i].row_stride, out[i].dtype},
                     batch.squares + i * batch.parts,
                     batch.largest + i * batch.parts});
  }
  upload(batch.table, table.data(), count * sizeof(LoadStoreMatrix), stream);
  const Bucket& b = batch.bucket;
  const LoadStoreBatch load_store{batch.table, b.rows, b.cols, b.batch, b.x, b.o, b.row_stride, plan.dtype};
  enqueue_load(load_store, stage.norm, plan.input_scale(), stream);
  if (iteration != nullptr) iteration->enqueue(stream);
  enqueue_store(load_store, stream);
  check(cudaGetLastError(), "orthogonalizing");
  check(cudaStreamSynchronize(stream), "waiting for the orthogonalization");
}

}  // namespace

void orthogonalize(const DeviceInfo& device, std::span<const MatrixView> in, std::span<const MatrixView> out,
                   const OrthogonalizeStage& stage, cudaStream_t stream) {
  if (is_capturing(stream)) throw Error("orthogonalize: cannot be captured in a graph");
  const DType compute = in[0].dtype == DType::f64 ? DType::f64 : DType::f32;
  const IterationPlan plan = plan_iteration(stage, compute, std::min(in[0].rows, in[0].cols), device);
  constexpr std::size_t kMaxGridY = 65535;
  const std::size_t batch =
      std::clamp(kScratchLimit / bytes_of(in[0], 1, plan, stage, device), std::size_t{1}, kMaxGridY);
  for (std::size_t first = 0; first < in.size(); first += batch) {
    const std::size_t count = std::min(batch, in.size() - first);
    orthogonalize_batch(device, in.subspan(first, count), out.subspan(first, count), stage, plan, stream);
  }
}

}  // namespace trasmuon::cuda
