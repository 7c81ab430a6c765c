// SPDX-License-Identifier: Apache-2.0
//
// Nothing may be written before the whole gradient is known to be finite, and the iteration's
// input is scaled by the norm of the whole: so one pass reads, a small kernel decides, and a
// second pass writes.
#include "cuda/input_scale.cuh"
#include "cuda/kernels.h"
#include "cuda/load.cuh"

namespace trasmuon::cuda {
namespace {

constexpr int kThreads = kChunkCols / 4;

template <class T>
struct Momentum {
  T beta, rest;
  bool nesterov;
  __device__ explicit Momentum(const StepScalars& s)
      : beta(static_cast<T>(s.beta1)), rest(static_cast<T>(1) - beta), nesterov(s.nesterov) {}
  __device__ T next(T m, T g) const { return beta * m + rest * g; }
  __device__ T input(T next, T g) const { return nesterov ? beta * next + rest * g : next; }
};

/// body(row, j, g, m) for the four columns of this thread in each row of the chunk. The momentum is
/// kept as M and computed as T.
template <class T, class M, class Body>
__device__ __forceinline__ void for_each_four(const DeviceMatrix& x, const Chunk& chunk, Body&& body) {
  const int j = chunk.col + 4 * static_cast<int>(threadIdx.x);
  const int last = min(chunk.row + kChunkRows, x.rows);
  with_element<T>(x.gradient.dtype, [&](auto element) {
    using G = decltype(element);
    const bool aligned_g = aligned4<G>(x.gradient), aligned_m = aligned4<M>(x.momentum);
    constexpr int kAhead = 4;  // rows under way at once
    for (int first = chunk.row; first < last; first += kAhead) {
      T g[kAhead][4], m[kAhead][4];
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        const int i = min(first + k, last - 1);
        load4<T>(row_of<G>(x.gradient, i), j, x.cols, aligned_g, g[k]);
        load4<T>(row_of<M>(x.momentum, i), j, x.cols, aligned_m, m[k]);
      }
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        if (first + k < last) body(first + k, j, g[k], m[k]);
      }
    }
  });
}

template <class T, class M>
__global__ void __launch_bounds__(kThreads)
    read_pass(const DeviceMatrix* matrices, MatrixStatus* status, const Chunk* chunks, const StepScalars* scalars) {
  __shared__ double scratch[33];
  __shared__ double row_energy[kChunkRows];
  const Chunk chunk = chunks[blockIdx.x];
  const DeviceMatrix& x = matrices[chunk.matrix];
  if (x.gradient.data == nullptr) return;
  const Momentum<T> momentum(*scalars);
  const T largest = sizeof(T) == 8 ? static_cast<T>(1e150) : static_cast<T>(1e18);
  const bool transposed = x.transposed;
  if (threadIdx.x < kChunkRows) row_energy[threadIdx.x] = 0;
  bool usable = true;
  T energy[4] = {};
  double input = 0;
  for_each_four<T, M>(x, chunk, [&](int i, int, const T(&g)[4], const T(&m)[4]) {
    T along = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const T next = momentum.next(m[k], g[k]), u = momentum.input(next, g[k]);
      usable &= abs(g[k]) <= largest;  // false for NaN
      energy[k] += next * next;
      along += next * next;
      if (momentum.nesterov) input += static_cast<double>(u) * static_cast<double>(u);
    }
    if (transposed) {
      const double sum = block_sum(static_cast<double>(along), scratch);
      if (threadIdx.x == 0) row_energy[i - chunk.row] = sum;
    }
  });
  if (__syncthreads_or(!usable) && threadIdx.x == 0) atomicOr(&status[chunk.matrix].unusable, 1);
  if (momentum.nesterov) {
    input = block_sum(input, scratch);
    if (threadIdx.x == 0) x.input_parts[chunk.index] = input;
  }
  if (transposed) {
    const int i = chunk.row + static_cast<int>(threadIdx.x);
    double* parts = x.column_parts + static_cast<std::int64_t>(chunk.col / kChunkCols) * x.rows;
    if (threadIdx.x < kChunkRows && i < x.rows) parts[i] = row_energy[threadIdx.x];
  } else {
    const int j = chunk.col + 4 * static_cast<int>(threadIdx.x);
    double* parts = x.column_parts + static_cast<std::int64_t>(chunk.row / kChunkRows) * x.cols;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (j + k < x.cols) parts[j + k] = static_cast<double>(energy[k]);
    }
  }
}

/// One block a matrix: the energies, whether to step at all, and the scale of the input.
__global__ void decide(const DeviceMatrix* matrices, MatrixStatus* status, const StepScalars* scalars,
                       InputScale scale) {
  __shared__ double scratch[33];
  const DeviceMatrix& x = matrices[blockIdx.x];
  MatrixStatus& s = status[blockIdx.x];
  const int n = x.n();
  const bool has_gradient = x.gradient.data != nullptr;
  const bool refused = has_gradient && s.unusable != 0 && scalars->skip_nonfinite;
  double squares = 0;
  if (has_gradient && !refused) {
    for (int j = static_cast<int>(threadIdx.x); j < n; j += static_cast<int>(blockDim.x)) {
      double sum = 0;
      for (int part = 0; part < x.column_part_count; ++part)
        sum += x.column_parts[static_cast<std::int64_t>(part) * n + j];
      x.energy[j] = sum;
      squares += sum;
    }
    if (scalars->nesterov) {
      squares = 0;
      for (int c = static_cast<int>(threadIdx.x); c < x.chunk_count; c += static_cast<int>(blockDim.x))
        squares += x.input_parts[c];
    }
  }
  squares = block_sum(squares, scratch);
  if (threadIdx.x != 0) return;
  s.unusable = 0;
  ++s.runs;
  s.active = has_gradient && !refused;
  if (refused) ++*x.skipped;
  if (!s.active) return;
  ++*x.step;
  const InputEps eps{scalars->eps_relative, scalars->eps_absolute, scalars->eps_cap};
  s.input_scale = input_scale(squares, static_cast<double>(x.rows) * x.cols, eps, scale);
}

template <class T, class M, class X>
__global__ void __launch_bounds__(kThreads) write_pass(const DeviceMatrix* matrices, const MatrixStatus* status,
                                                       const Chunk* chunks, const StepScalars* scalars) {
  const Chunk chunk = chunks[blockIdx.x];
  const DeviceMatrix& x = matrices[chunk.matrix];
  const bool aligned_x = aligned4<X>(x.direction);
  const int j0 = chunk.col + 4 * static_cast<int>(threadIdx.x);
  if (status[chunk.matrix].active == 0) {
    const T zero[4] = {};
    for (int i = chunk.row; i < min(chunk.row + kChunkRows, x.rows); ++i)
      store4<T>(row_of<X>(x.direction, i), j0, x.cols, aligned_x, zero);
    return;
  }
  const Momentum<T> momentum(*scalars);
  const T scale = static_cast<T>(status[chunk.matrix].input_scale);
  const bool aligned_m = aligned4<M>(x.momentum);
  for_each_four<T, M>(x, chunk, [&](int i, int j, const T(&g)[4], const T(&m)[4]) {
    T next[4], input[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      next[k] = momentum.next(m[k], g[k]);
      input[k] = scale * momentum.input(next[k], g[k]);
    }
    store4<T>(row_of<M>(x.momentum, i), j, x.cols, aligned_m, next);
    store4<T>(row_of<X>(x.direction, i), j, x.cols, aligned_x, input);
  });
}

}  // namespace

void enqueue_momentum(const StepMemory& step, InputScale scale, cudaStream_t stream) {
  const dim3 chunks(static_cast<unsigned>(step.chunk_count)), matrices(static_cast<unsigned>(step.matrix_count));
  const auto run = [&](auto read, auto write) {
    read<<<chunks, kThreads, 0, stream>>>(step.matrices, step.status, step.chunks, step.scalars);
    decide<<<matrices, 512, 0, stream>>>(step.matrices, step.status, step.scalars, scale);
    write<<<chunks, kThreads, 0, stream>>>(step.matrices, step.status, step.chunks, step.scalars);
  };
  const auto run_as = [&]<class M>(M) {
    switch (step.direction) {
      case DType::f32: run(read_pass<float, M>, write_pass<float, M, float>); break;
      case DType::f16: run(read_pass<float, M>, write_pass<float, M, __half>); break;
      default: run(read_pass<float, M>, write_pass<float, M, __nv_bfloat16>); break;
    }
  };
  if (step.direction == DType::f64) run(read_pass<double, double>, write_pass<double, double, double>);
  else if (step.momentum == DType::bf16) run_as(__nv_bfloat16{});
  else run_as(float{});
}

}  // namespace trasmuon::cuda
