// SPDX-License-Identifier: Apache-2.0
//
// Column energies of the gradient or of O_base. Those of the momentum come from the momentum's own pass, whose partial
// sums are added up by now: these reuse their memory.
#include "cuda/passes/block.cuh"
#include "cuda/passes/dispatch.cuh"
#include "cuda/passes/load.cuh"
#include "cuda/passes/passes.h"

namespace trasmuon::cuda {
namespace {

/// Partial sums over a chunk of the squares of a matrix of E, one per column of W: across the stored rows, or along
/// them if W is transposed. `factor`: of the rows of W; null: 1.
template <class T, class E>
__device__ __forceinline__ void add_squares(const Block& block, const DeviceMatrix& x, const Chunk& chunk,
                                            const DeviceView& view, const T* factor) {
  const bool aligned = aligned4<E>(view);
  const int j = chunk.col + 4 * block.thread, last = chunk.row_end;
  double across[4] = {};
  for (int i = chunk.row; i < last; ++i) {
    T value[4];
    load4<T>(row_of<E>(view, i), j, x.cols, aligned, value);
    double along = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (factor != nullptr && j + k < x.cols) value[k] *= factor[x.transposed ? j + k : i];
      const double square = static_cast<double>(value[k]) * static_cast<double>(value[k]);  // eq:col_energy
      across[k] += square;
      along += square;
    }
    if (x.transposed) block.add_row(i - chunk.row, along);
  }
  block.sync();
  if (x.transposed) {
    double* parts = x.column_parts + static_cast<std::int64_t>(chunk.col / kChunkCols) * x.rows;
    for (int i = chunk.row + block.thread; i < last; i += kBlockThreads) parts[i] = block.row_sum(i - chunk.row);
    return;
  }
  double* parts = x.column_parts + static_cast<std::int64_t>(chunk.row / kChunkRows) * x.cols;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (j + k < x.cols) parts[j + k] = across[k];
  }
}

template <class T>
__global__ void __launch_bounds__(kBlockThreads) gradient_energy(StepTables step) {
  __shared__ BlockMemory memory;
  const Block block(memory);
  const Chunk chunk = step.chunks[blockIdx.x];
  const DeviceMatrix& x = step.matrices[chunk.matrix];
  if (step.status[chunk.matrix].active == 0) return;
  with_element<T>(x.gradient.dtype,
                  [&](auto element) { add_squares<T, decltype(element)>(block, x, chunk, x.gradient, nullptr); });
}

template <class T, class X>
__global__ void __launch_bounds__(kBlockThreads) direction_energy(StepTables step) {
  __shared__ BlockMemory memory;
  const Block block(memory);
  const Chunk chunk = step.chunks[blockIdx.x];
  const DeviceMatrix& x = step.matrices[chunk.matrix];
  if (step.status[chunk.matrix].active == 0) return;
  add_squares<T, X>(block, x, chunk, x.direction, static_cast<const T*>(x.row_factor));
}

/// One block per matrix: adds up the partial sums.
__global__ void __launch_bounds__(kBlockThreads) energy_sum(StepTables step) {
  const DeviceMatrix& x = step.matrices[blockIdx.x];
  if (step.status[blockIdx.x].active == 0) return;
  const int n = x.n();
  for (int j = static_cast<int>(threadIdx.x); j < n; j += kBlockThreads) {
    double sum = 0;
    for (int part = 0; part < x.column_part_count; ++part)
      sum += x.column_parts[static_cast<std::int64_t>(part) * n + j];
    x.energy[j] = sum;
  }
}

}  // namespace

void enqueue_gradient_energy(const StepTables& step, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? gradient_energy<double> : gradient_energy<float>;
  launch(kernel, chunk_grid(step), kBlockThreads, stream, step);
  launch(energy_sum, matrix_grid(step), kBlockThreads, stream, step);
}

void enqueue_direction_energy(const StepTables& step, cudaStream_t stream) {
  with_types(step, [&]<class T, class X>(Type<T>, Type<X>) {
    launch(direction_energy<T, X>, chunk_grid(step), kBlockThreads, stream, step);
  });
  launch(energy_sum, matrix_grid(step), kBlockThreads, stream, step);
}

}  // namespace trasmuon::cuda
