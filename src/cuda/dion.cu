// SPDX-License-Identifier: Apache-2.0
#include "cuda/dion.h"

#include <cfloat>

#include "cuda/block_sum.cuh"
#include "cuda/load.cuh"

namespace trasmuon::cuda {
namespace {

constexpr int kThreads = kChunkCols / 4;
constexpr int kRowThreads = 256, kBlockThreads = 1024;

/// B <- M + G; zero where the matrix is not stepped, so that nothing of it reaches P and R.
template <class T>
__global__ void __launch_bounds__(kThreads) add_gradient(const DeviceMatrix* matrices, const MatrixStatus* status,
                                                         const Chunk* chunks, const DionMatrix* dion) {
  const Chunk chunk = chunks[blockIdx.x];
  const DeviceMatrix& x = matrices[chunk.matrix];
  const DeviceView sum = dion[chunk.matrix].sum;
  const bool active = status[chunk.matrix].active != 0;
  const int j = chunk.col + 4 * static_cast<int>(threadIdx.x), last = chunk.row_end;
  const bool aligned_m = aligned4<T>(x.momentum), aligned_b = aligned4<T>(sum);
  with_element<T>(x.gradient.dtype, [&](auto element) {
    using G = decltype(element);
    const bool aligned_g = aligned4<G>(x.gradient);
    for (int i = chunk.row; i < last; ++i) {
      T b[4] = {};
      if (active) {
        T g[4];
        load4<T>(row_of<G>(x.gradient, i), j, x.cols, aligned_g, g);
        load4<T>(row_of<T>(x.momentum, i), j, x.cols, aligned_m, b);
#pragma unroll
        for (int k = 0; k < 4; ++k) b[k] += g[k];
      }
      store4(row_of<T>(sum, i), j, x.cols, aligned_b, b);
    }
  });
}

/// One block a matrix: Q, and the size of the step.
template <class T>
__global__ void __launch_bounds__(kBlockThreads)
    load_basis(const DionMatrix* dion, MatrixStatus* status, const StepScalars* scalars) {
  const DionMatrix& d = dion[blockIdx.x];
  const T* basis = static_cast<const T*>(d.basis);
  T* q = static_cast<T*>(d.q);
  const std::int64_t count = static_cast<std::int64_t>(d.n) * d.rank;
  for (std::int64_t k = threadIdx.x; k < count; k += blockDim.x) q[k] = basis[k];
  if (threadIdx.x == 0) status[blockIdx.x].eta_hat = scalars->lr * sqrt(static_cast<double>(d.m) / d.n);
}

/// The length of a row, in every thread of the block.
template <class T>
__device__ double length_of(const T* row, int cols, double* scratch) {
  double sum = 0;
  for (int j = static_cast<int>(threadIdx.x); j < cols; j += static_cast<int>(blockDim.x))
    sum += static_cast<double>(row[j]) * static_cast<double>(row[j]);
  return sqrt(block_sum(sum, scratch));
}

/// One block a row (y) of a matrix (x). So that neither products nor squares leave T's range.
template <class T>
__global__ void __launch_bounds__(kRowThreads) unit_rows(const DionMatrix* dion) {
  __shared__ double scratch[33];
  const DionMatrix& d = dion[blockIdx.x];
  const int k = static_cast<int>(blockIdx.y);
  if (k >= d.rank) return;
  T* row = static_cast<T*>(d.p) + static_cast<std::int64_t>(k) * d.p_stride;
  const double length = length_of(row, d.m, scratch);
  if (!(length > 0)) return;
  for (int j = static_cast<int>(threadIdx.x); j < d.m; j += kRowThreads)
    row[j] = static_cast<T>(static_cast<double>(row[j]) / length);
}

/// One block a matrix, one warp for each component of the row in turn.
template <class T>
__global__ void __launch_bounds__(kBlockThreads) orthonormal_block(const DionMatrix* dion, int first) {
  __shared__ double scratch[33];
  __shared__ T components[kDionBlock];
  const DionMatrix& d = dion[blockIdx.x];
  const int count = min(kDionBlock, d.rank - first), cols = d.m;
  const std::int64_t stride = d.p_stride;
  T* rows = static_cast<T*>(d.p) + first * stride;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int warp = thread / 32, lane = thread % 32, warps = threads / 32;
  const double epsilon = sizeof(T) == 8 ? DBL_EPSILON : FLT_EPSILON;
  const double tolerance = 10 * sqrt(static_cast<double>(cols)) * epsilon;
  for (int i = 0; i < count; ++i) {
    T* row = rows + i * stride;
    for (int pass = 0; pass < 2 && i > 0; ++pass) {
      for (int k = warp; k < i; k += warps) {
        const T* other = rows + k * stride;
        double sum = 0;
        for (int j = lane; j < cols; j += 32) sum += static_cast<double>(row[j]) * static_cast<double>(other[j]);
        for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
        if (lane == 0) components[k] = static_cast<T>(sum);
      }
      __syncthreads();
      for (int j = thread; j < cols; j += threads) {
        T rest = row[j];
        for (int k = 0; k < i; ++k) rest -= components[k] * rows[k * stride + j];
        row[j] = rest;
      }
      __syncthreads();
    }
    // A row that depends on those before it becomes zero: its component adds nothing to the step.
    const double length = length_of(row, cols, scratch);
    const T inverse = length > tolerance ? static_cast<T>(1 / length) : T(0);
    for (int j = thread; j < cols; j += threads) row[j] *= inverse;
    __syncthreads();
  }
}

/// One block a row (y) of a matrix (x). A zero row keeps the old column of Q.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    renew_basis(const DionMatrix* dion, const MatrixStatus* status, const StepScalars* scalars) {
  __shared__ double scratch[33];
  const DionMatrix& d = dion[blockIdx.x];
  const int k = static_cast<int>(blockIdx.y);
  if (k >= d.rank) return;
  const std::int64_t start = static_cast<std::int64_t>(k) * d.r_stride;
  T* row = static_cast<T*>(d.r) + start;
  T* scaled = static_cast<T*>(d.scaled_r) + start;
  T* basis = static_cast<T*>(d.basis) + k;
  const T factor = static_cast<T>(scalars->feedback - 1);
  const double length = length_of(row, d.n, scratch);
  const bool active = status[blockIdx.x].active != 0;
  for (int j = static_cast<int>(threadIdx.x); j < d.n; j += kRowThreads) {
    const T value = row[j];
    scaled[j] = factor * value;
    if (!(length > 0)) continue;
    const T unit = static_cast<T>(static_cast<double>(value) / length);
    row[j] = unit;
    if (active) basis[static_cast<std::int64_t>(j) * d.rank] = unit;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) keep_momentum(const DeviceMatrix* matrices, const MatrixStatus* status,
                                                          const Chunk* chunks, const DionMatrix* dion) {
  const Chunk chunk = chunks[blockIdx.x];
  if (status[chunk.matrix].active == 0) return;
  const DeviceMatrix& x = matrices[chunk.matrix];
  const DeviceView sum = dion[chunk.matrix].sum;
  const int j = chunk.col + 4 * static_cast<int>(threadIdx.x);
  const bool aligned_m = aligned4<T>(x.momentum), aligned_b = aligned4<T>(sum);
  for (int i = chunk.row; i < chunk.row_end; ++i) {
    T b[4];
    load4<T>(row_of<T>(sum, i), j, x.cols, aligned_b, b);
    store4(row_of<T>(x.momentum, i), j, x.cols, aligned_m, b);
  }
}

dim3 rows_of(const StepMemory& step, int most_rank) {
  return {static_cast<unsigned>(step.matrix_count), static_cast<unsigned>(most_rank)};
}

}  // namespace

void enqueue_dion_load(const StepMemory& step, const DionMatrix* matrices, cudaStream_t stream) {
  const auto chunks = static_cast<unsigned>(step.chunk_count), count = static_cast<unsigned>(step.matrix_count);
  const auto run = [&](auto add, auto load) {
    add<<<chunks, kThreads, 0, stream>>>(step.matrices, step.status, step.chunks, matrices);
    load<<<count, kBlockThreads, 0, stream>>>(matrices, step.status, step.scalars);
  };
  if (step.compute == DType::f64) run(add_gradient<double>, load_basis<double>);
  else run(add_gradient<float>, load_basis<float>);
}

void enqueue_dion_unit_rows(const StepMemory& step, const DionMatrix* matrices, int most_rank, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? unit_rows<double> : unit_rows<float>;
  kernel<<<rows_of(step, most_rank), kRowThreads, 0, stream>>>(matrices);
}

void enqueue_dion_basis(const StepMemory& step, const DionMatrix* matrices, int most_rank, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? renew_basis<double> : renew_basis<float>;
  kernel<<<rows_of(step, most_rank), kRowThreads, 0, stream>>>(matrices, step.status, step.scalars);
}

void enqueue_dion_momentum(const StepMemory& step, const DionMatrix* matrices, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? keep_momentum<double> : keep_momentum<float>;
  const auto chunks = static_cast<unsigned>(step.chunk_count);
  kernel<<<chunks, kThreads, 0, stream>>>(step.matrices, step.status, step.chunks, matrices);
}

void enqueue_dion_orthonormal(const StepMemory& step, const DionMatrix* matrices, int first, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? orthonormal_block<double> : orthonormal_block<float>;
  kernel<<<static_cast<unsigned>(step.matrix_count), kBlockThreads, 0, stream>>>(matrices, first);
}

}  // namespace trasmuon::cuda
