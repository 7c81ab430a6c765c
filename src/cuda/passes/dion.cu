// SPDX-License-Identifier: Apache-2.0
#include "cuda/passes/dion.h"

#include "cuda/passes/block.cuh"
#include "cuda/passes/dispatch.cuh"
#include "cuda/passes/load.cuh"
#include "stages/formulas.h"

namespace trasmuon::cuda {
namespace {

constexpr int kRowThreads = 256;      // of a block that works on one row
constexpr int kMatrixThreads = 1024;  // of a block that works on one matrix

/// B <- M + G, and the sum of its squares; zeros for a matrix that is not stepped, so that P and R become zero.
template <class T>
__global__ void __launch_bounds__(kBlockThreads)
    dion_add_gradient(const DeviceMatrix* matrices, const MatrixStatus* status, const Chunk* chunks,
                      const DionMatrix* dion) {
  __shared__ double per_warp[kBlockThreads / 32];
  const Chunk chunk = chunks[blockIdx.x];
  const DeviceMatrix& x = matrices[chunk.matrix];
  const DeviceView sum = dion[chunk.matrix].sum;
  const bool active = status[chunk.matrix].active != 0;
  double squares = 0;
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
        for (int k = 0; k < 4; ++k) {
          b[k] += g[k];
          squares += static_cast<double>(b[k]) * static_cast<double>(b[k]);
        }
      }
      store4(row_of<T>(sum, i), j, x.cols, aligned_b, b);
    }
  });
  squares = block_sum<kBlockThreads>(squares, per_warp);
  if (threadIdx.x == 0) x.input_parts[chunk.index] = squares;
}

/// One block per matrix: copies Q and sets the step size.
template <class T>
__global__ void __launch_bounds__(kMatrixThreads)
    dion_load_basis(const DionMatrix* dion, MatrixStatus* status, const StepScalars* scalars) {
  const DionMatrix& d = dion[blockIdx.x];
  const T* basis = static_cast<const T*>(d.basis);
  T* q = static_cast<T*>(d.q);
  const std::int64_t count = static_cast<std::int64_t>(d.n) * d.rank;
  for (std::int64_t k = threadIdx.x; k < count; k += blockDim.x) q[k] = basis[k];
  if (threadIdx.x == 0) status[blockIdx.x].eta_hat = dion_step(scalars->lr, d.m, d.n);
}

/// The Euclidean norm of a row; every thread of the block gets it.
template <int Threads, class T>
__device__ double row_norm(const T* row, int cols, double* per_warp) {
  double sum = 0;
  for (int j = static_cast<int>(threadIdx.x); j < cols; j += Threads)
    sum += static_cast<double>(row[j]) * static_cast<double>(row[j]);
  return sqrt(block_sum<Threads>(sum, per_warp));
}

/// One block per row (y) of a matrix (x). Keeps products and squares inside the range of T.
template <class T>
__global__ void __launch_bounds__(kRowThreads) dion_unit_rows(const DeviceMatrix* matrices, const DionMatrix* dion) {
  __shared__ double per_warp[kRowThreads / 32];
  const DionMatrix& d = dion[blockIdx.x];
  const DeviceMatrix& x = matrices[blockIdx.x];
  const int k = static_cast<int>(blockIdx.y), thread = static_cast<int>(threadIdx.x);
  if (k >= d.rank) return;
  T* row = static_cast<T*>(d.p) + static_cast<std::int64_t>(k) * d.p_stride;
  const double length = row_norm<kRowThreads>(row, d.m, per_warp);
  double b_squares = 0, q_squares = 0;
  for (int part = thread; part < x.chunk_count; part += kRowThreads) b_squares += x.input_parts[part];
  for (int j = thread; j < d.n; j += kRowThreads) {
    const auto q = static_cast<double>(static_cast<const T*>(d.q)[static_cast<std::int64_t>(j) * d.rank + k]);
    q_squares += q * q;
  }
  b_squares = block_sum<kRowThreads>(b_squares, per_warp);
  q_squares = block_sum<kRowThreads>(q_squares, per_warp);
  if (thread == 0) {
    d.norms[k] = length;
    d.errors[k] = dion_error<T>(sqrt(b_squares), sqrt(q_squares));
  }
  if (!(length > 0)) return;
  for (int j = thread; j < d.m; j += kRowThreads) row[j] = static_cast<T>(static_cast<double>(row[j]) / length);
}

/// The squared error that a projection brings into a row: the sum over `count` rows of (component * relative error)^2.
template <class T>
__device__ double inherited_error(const T* components, const double* errors, int first, int count, int stride) {
  double sum = 0;
  for (int k = first; k < count; k += stride) {
    const double error = static_cast<double>(components[k]) * errors[k];
    sum += error * error;
  }
  return sum;
}

/// One block per matrix, by Gram-Schmidt row by row; each warp computes components of the row along earlier rows.
template <class T>
__global__ void __launch_bounds__(kMatrixThreads) dion_orthonormalize(const DionMatrix* dion, int first) {
  __shared__ double per_warp[kMatrixThreads / 32];
  __shared__ T components[kDionBlock];
  const DionMatrix& d = dion[blockIdx.x];
  const int count = min(kDionBlock, d.rank - first), cols = d.m;
  const std::int64_t stride = d.p_stride;
  T* rows = static_cast<T*>(d.p) + first * stride;
  constexpr int kWarps = kMatrixThreads / 32;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  double* errors = d.errors + first;
  for (int i = 0; i < count; ++i) {
    T* row = rows + i * stride;
    const T* along_earlier = static_cast<const T*>(d.components) + static_cast<std::int64_t>(i) * d.rank;
    double inherited =
        block_sum<kMatrixThreads>(inherited_error(along_earlier, d.errors, thread, first, kMatrixThreads), per_warp);
    for (int pass = 0; pass < 2 && i > 0; ++pass) {
      for (int k = warp; k < i; k += kWarps) {
        const T* other = rows + k * stride;
        double sum = 0;
        for (int j = lane; j < cols; j += 32) sum += static_cast<double>(row[j]) * static_cast<double>(other[j]);
        for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
        if (lane == 0) components[k] = static_cast<T>(sum);
      }
      __syncthreads();
      if (pass == 0) inherited += inherited_error(components, errors, 0, i, 1);
      for (int j = thread; j < cols; j += kMatrixThreads) {
        T rest = row[j];
        for (int k = 0; k < i; ++k) rest -= components[k] * rows[k * stride + j];
        row[j] = rest;
      }
      __syncthreads();
    }
    // A row that depends linearly on earlier rows becomes zero and contributes nothing to the step.
    const double length = row_norm<kMatrixThreads>(row, cols, per_warp);
    const double own = unit_row_error<T>(d.norms[first + i], errors[i]);
    const bool dependent = is_dependent<T>(length, own, inherited, cols);
    const T inverse = dependent ? T(0) : static_cast<T>(1 / length);
    for (int j = thread; j < cols; j += kMatrixThreads) row[j] *= inverse;
    __syncthreads();
    if (thread == 0) errors[i] = dependent ? 0 : own / length;
    __syncthreads();
  }
}

/// One block per row (y) of a matrix (x). For a zero row the old column of Q stays.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    dion_renew_basis(const DionMatrix* dion, const MatrixStatus* status, const StepScalars* scalars) {
  __shared__ double per_warp[kRowThreads / 32];
  const DionMatrix& d = dion[blockIdx.x];
  const int k = static_cast<int>(blockIdx.y);
  if (k >= d.rank) return;
  const std::int64_t start = static_cast<std::int64_t>(k) * d.r_stride;
  T* row = static_cast<T*>(d.r) + start;
  T* scaled = static_cast<T*>(d.scaled_r) + start;
  T* basis = static_cast<T*>(d.basis) + k;
  const T factor = static_cast<T>(dion_feedback(scalars->dion_momentum));
  const double length = row_norm<kRowThreads>(row, d.n, per_warp);
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
__global__ void __launch_bounds__(kBlockThreads)
    dion_keep_momentum(const DeviceMatrix* matrices, const MatrixStatus* status, const Chunk* chunks,
                       const DionMatrix* dion) {
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

dim3 row_grid(const StepTables& step, int max_rank) {
  return {static_cast<unsigned>(step.matrix_count), static_cast<unsigned>(max_rank)};
}

}  // namespace

void enqueue_dion_add_gradient(const StepTables& step, const DionMatrix* matrices, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? dion_add_gradient<double> : dion_add_gradient<float>;
  launch(kernel, chunk_grid(step), kBlockThreads, stream, step.matrices, step.status, step.chunks, matrices);
}

void enqueue_dion_load_basis(const StepTables& step, const DionMatrix* matrices, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? dion_load_basis<double> : dion_load_basis<float>;
  launch(kernel, matrix_grid(step), kMatrixThreads, stream, matrices, step.status, step.scalars);
}

void enqueue_dion_unit_rows(const StepTables& step, const DionMatrix* matrices, int max_rank, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? dion_unit_rows<double> : dion_unit_rows<float>;
  launch(kernel, row_grid(step, max_rank), kRowThreads, stream, step.matrices, matrices);
}

void enqueue_dion_orthonormalize(const StepTables& step, const DionMatrix* matrices, int first, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? dion_orthonormalize<double> : dion_orthonormalize<float>;
  launch(kernel, matrix_grid(step), kMatrixThreads, stream, matrices, first);
}

void enqueue_dion_basis(const StepTables& step, const DionMatrix* matrices, int max_rank, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? dion_renew_basis<double> : dion_renew_basis<float>;
  launch(kernel, row_grid(step, max_rank), kRowThreads, stream, matrices, step.status, step.scalars);
}

void enqueue_dion_momentum(const StepTables& step, const DionMatrix* matrices, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? dion_keep_momentum<double> : dion_keep_momentum<float>;
  launch(kernel, chunk_grid(step), kBlockThreads, stream, step.matrices, step.status, step.chunks, matrices);
}

}  // namespace trasmuon::cuda
