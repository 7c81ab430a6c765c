// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels.h"
#include "cuda/load.cuh"

namespace trasmuon::cuda {
namespace {

/// Squares of the rows of W in the direction O: along stored rows, or across them when transposed.
template <class T, class X>
__global__ void __launch_bounds__(kChunkCols / 4)
    row_squares(const DeviceMatrix* matrices, const MatrixStatus* status, const Chunk* chunks) {
  __shared__ double scratch[33];
  const Chunk chunk = chunks[blockIdx.x];
  const DeviceMatrix& x = matrices[chunk.matrix];
  if (status[chunk.matrix].active == 0) return;
  const bool aligned = aligned4<X>(x.direction);
  const int j = chunk.col + 4 * static_cast<int>(threadIdx.x);
  double across[4] = {};
  for (int i = chunk.row; i < min(chunk.row + kChunkRows, x.rows); ++i) {
    T o[4];
    load4<T>(row_of<X>(x.direction, i), j, x.cols, aligned, o);
    double along = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const double square = static_cast<double>(o[k]) * static_cast<double>(o[k]);
      across[k] += square;
      along += square;
    }
    if (x.transposed) continue;
    along = block_sum(along, scratch);
    if (threadIdx.x == 0) x.row_parts64[static_cast<std::int64_t>(chunk.col / kChunkCols) * x.rows + i] = along;
  }
  if (!x.transposed) return;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (j + k < x.cols) x.row_parts64[static_cast<std::int64_t>(chunk.row / kChunkRows) * x.cols + j + k] = across[k];
  }
}

__device__ double calibrated(const StepScalars& s, double m, double n, double squares, double base_squares) {
  using Kind = CalibrateStage::Kind;
  const CalibrateStage& stage = s.calibrate;
  const double base_norm = sqrt(base_squares), aspect = sqrt(fmax(1.0, m / n));
  switch (stage.kind) {
    case Kind::rms: return s.lr * stage.scale * sqrt(m * n) / (base_norm + stage.eps);
    case Kind::keep_norm: return s.lr * aspect * sqrt(squares) / (base_norm + stage.eps);
    case Kind::original: return s.lr * aspect;
    case Kind::match_rms_adamw: return s.lr * 0.2 * sqrt(fmax(m, n));
    default: return s.lr;
  }
}

/// One block a matrix.
template <class T>
__global__ void scale_rows(const DeviceMatrix* matrices, MatrixStatus* status, const StepScalars* scalars) {
  __shared__ double scratch[33];
  const DeviceMatrix& x = matrices[blockIdx.x];
  MatrixStatus& s = status[blockIdx.x];
  if (s.active == 0) return;
  const int m = x.m(), n = x.n();
  T* v_row = static_cast<T*>(x.v_row);
  T* factor = static_cast<T*>(x.row_factor);
  double base_squares = 0, squares = 0;
  for (int i = static_cast<int>(threadIdx.x); i < m; i += static_cast<int>(blockDim.x)) {
    double sum = 0;
    for (int part = 0; part < x.row_part_count; ++part) {
      const std::int64_t at = static_cast<std::int64_t>(part) * m + i;
      sum += x.row_parts != nullptr ? static_cast<double>(x.row_parts[at]) : x.row_parts64[at];
    }
    double f = 1;
    if (scalars->row_scale) {
      const T v = static_cast<T>(scalars->beta2 * static_cast<double>(v_row[i]) + (1 - scalars->beta2) * sum / n);
      v_row[i] = v;
      const double root = sqrt(static_cast<double>(v) + scalars->eps_inside) + scalars->eps_outside;
      f = root > 0 ? 1 / root : 0;
    }
    factor[i] = static_cast<T>(f);
    squares += sum;
    base_squares += sum * static_cast<double>(factor[i]) * static_cast<double>(factor[i]);
  }
  base_squares = block_sum(base_squares, scratch);
  squares = block_sum(squares, scratch);
  if (threadIdx.x != 0) return;
  s.base_squares = base_squares;
  s.eta_hat = calibrated(*scalars, m, n, squares, base_squares);
}

}  // namespace

void enqueue_row_squares(const StepMemory& step, cudaStream_t stream) {
  const auto run = [&](auto kernel) {
    kernel<<<static_cast<unsigned>(step.chunk_count), kChunkCols / 4, 0, stream>>>(step.matrices, step.status,
                                                                                   step.chunks);
  };
  switch (step.direction) {
    case DType::f64: run(row_squares<double, double>); break;
    case DType::f32: run(row_squares<float, float>); break;
    case DType::f16: run(row_squares<float, __half>); break;
    default: run(row_squares<float, __nv_bfloat16>); break;
  }
}

void enqueue_row_scale(const StepMemory& step, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? scale_rows<double> : scale_rows<float>;
  kernel<<<static_cast<unsigned>(step.matrix_count), 512, 0, stream>>>(step.matrices, step.status, step.scalars);
}

}  // namespace trasmuon::cuda
