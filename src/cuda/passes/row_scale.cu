// SPDX-License-Identifier: Apache-2.0
#include "cuda/passes/block.cuh"
#include "cuda/passes/dispatch.cuh"
#include "cuda/passes/load.cuh"
#include "cuda/passes/passes.h"
#include "stages/formulas.h"

namespace trasmuon::cuda {
namespace {

/// Sums of squares of O over a chunk, one per row of W: along the stored rows, or across them if W is transposed.
template <class T, class X>
__global__ void __launch_bounds__(kBlockThreads) row_scale_squares(StepTables step) {
  __shared__ BlockMemory memory;
  const Block block(memory);
  const Chunk chunk = step.chunks[blockIdx.x];
  const DeviceMatrix& x = step.matrices[chunk.matrix];
  if (step.status[chunk.matrix].active == 0) return;
  const bool aligned = aligned4<X>(x.direction);
  const int j = chunk.col + 4 * block.thread, last = chunk.row_end;
  double across[4] = {};
  for (int i = chunk.row; i < last; ++i) {
    T o[4];
    load4<T>(row_of<X>(x.direction, i), j, x.cols, aligned, o);
    double along = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const double square = static_cast<double>(o[k]) * static_cast<double>(o[k]);
      across[k] += square;
      along += square;
    }
    if (!x.transposed) block.add_row(i - chunk.row, along);
  }
  block.sync();
  if (!x.transposed) {
    double* parts = x.row_parts64 + static_cast<std::int64_t>(chunk.col / kChunkCols) * x.rows;
    for (int i = chunk.row + block.thread; i < last; i += kBlockThreads) parts[i] = block.row_sum(i - chunk.row);
    block.sync();
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (j + k < x.cols) x.row_parts64[static_cast<std::int64_t>(chunk.row / kChunkRows) * x.cols + j + k] = across[k];
  }
}

/// One block per matrix: v, the factor of each row, and the calibrated step eta^.
template <class T>
__global__ void __launch_bounds__(kBlockThreads) row_scale(StepTables step) {
  __shared__ BlockMemory memory;
  const Block block(memory);
  const DeviceMatrix& x = step.matrices[blockIdx.x];
  MatrixStatus& s = step.status[blockIdx.x];
  if (s.active == 0) return;
  const StepScalars& scalars = *step.scalars;
  const int m = x.m(), n = x.n();
  T* v_row = static_cast<T*>(x.v_row);
  T* factor = static_cast<T*>(x.row_factor);
  double base = 0, squares = 0;
  for (int i = block.thread; i < m; i += kBlockThreads) {
    double sum = 0;
    for (int part = 0; part < x.row_part_count; ++part) {
      const std::int64_t at = static_cast<std::int64_t>(part) * m + i;
      sum += x.row_parts != nullptr ? static_cast<double>(x.row_parts[at]) : x.row_parts64[at];
    }
    T f = 1;
    if (scalars.has_row_scale) {
      v_row[i] = next_row_moment(scalars.row_scale, v_row[i], sum, n);  // eq:rowscale_main
      f = row_factor(scalars.row_scale, v_row[i]);                      // eq:rowscale_main1
    }
    factor[i] = f;
    squares += sum;
    base += base_squares(sum, f);
  }
  base = block.sum(base);
  squares = block.sum(squares);
  if (block.thread != 0) return;
  s.base_squares = base;
  s.eta_hat = calibrated_step(scalars.calibrate, scalars.lr, m, n, squares, base);  // eq:tr_cal_main
}

}  // namespace

void enqueue_row_scale_squares(const StepTables& step, cudaStream_t stream) {
  with_types(step, [&]<class T, class X>(Type<T>, Type<X>) {
    launch(row_scale_squares<T, X>, chunk_grid(step), kBlockThreads, stream, step);
  });
}

void enqueue_row_scale(const StepTables& step, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? row_scale<double> : row_scale<float>;
  launch(kernel, matrix_grid(step), kBlockThreads, stream, step);
}

}  // namespace trasmuon::cuda
