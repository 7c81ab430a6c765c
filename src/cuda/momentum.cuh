// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/input_scale.cuh"
#include "cuda/kernels.h"
#include "cuda/load.cuh"
#include "cuda/team.cuh"

// Nothing may be written before the whole gradient is known to be finite, and the iteration's
// input is scaled by the norm of the whole: so one pass reads, somebody decides, and a second pass
// writes.
namespace trasmuon::cuda {

template <class T>
struct Momentum {
  T beta, rest;
  bool nesterov;
  __device__ explicit Momentum(const StepScalars& s)
      : beta(static_cast<T>(s.beta1)), rest(static_cast<T>(1) - beta), nesterov(s.nesterov) {}
  __device__ T next(T m, T g) const { return beta * m + rest * g; }
  __device__ T input(T next, T g) const { return nesterov ? beta * next + rest * g : next; }
};

/// body(row, j, g, m) for the four columns of this thread in each row of the chunk; the momentum is
/// kept as M and computed as T.
template <class T, class M, class Body>
__device__ __forceinline__ void for_each_four(const Team& team, const DeviceMatrix& x, const Chunk& chunk,
                                              Body&& body) {
  const int j = chunk.col + 4 * team.thread;
  const int last = chunk.row_end;
  with_element<T>(x.gradient.dtype, [&](auto element) {
    using G = decltype(element);
    with_bool(whole_fours<G>(x.gradient, x.cols) && whole_fours<M>(x.momentum, x.cols), [&](auto whole) {
      constexpr int kAhead = 4;  // rows under way at once
      for (int first = chunk.row; first < last; first += kAhead) {
        T g[kAhead][4], m[kAhead][4];
        load_rows<whole.value, G>(x.gradient, first, last, j, x.cols, g);
        load_rows<whole.value, M>(x.momentum, first, last, j, x.cols, m);
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
          if (first + k < last) body(first + k, j, g[k], m[k]);
        }
      }
    });
  });
}

/// Column energies and squares of M as it will be, and whether the gradient can be used.
template <class T, class M>
__device__ __forceinline__ void read_chunk(const Team& team, const DeviceMatrix& x, MatrixStatus& status,
                                           const Chunk& chunk, const StepScalars& scalars) {
  if (x.gradient.data == nullptr) return;
  const Momentum<T> momentum(scalars);
  const T largest = sizeof(T) == 8 ? static_cast<T>(1e150) : static_cast<T>(1e18);
  const bool transposed = x.transposed;
  bool usable = true;
  T energy[4] = {};
  double input = 0;
  for_each_four<T, M>(team, x, chunk, [&](int i, int, const T(&g)[4], const T(&m)[4]) {
    T along = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const T next = momentum.next(m[k], g[k]), u = momentum.input(next, g[k]);
      usable &= abs(g[k]) <= largest;  // false for NaN
      energy[k] += next * next;
      along += next * next;
      if (momentum.nesterov) input += static_cast<double>(u) * static_cast<double>(u);
    }
    if (transposed) team.add_row(i - chunk.row, static_cast<double>(along));
  });
  if (team.any(!usable) && team.thread == 0) atomicOr(&status.unusable, 1);
  if (momentum.nesterov) {
    input = team.sum(input);
    if (team.thread == 0) x.input_parts[chunk.index] = input;
  }
  if (transposed) {
    double* parts = x.column_parts + static_cast<std::int64_t>(chunk.col / kChunkCols) * x.rows;
    for (int i = chunk.row + team.thread; i < chunk.row_end; i += kTeam) parts[i] = team.row_sum(i - chunk.row);
    team.sync();
  } else {
    const int j = chunk.col + 4 * team.thread;
    double* parts = x.column_parts + static_cast<std::int64_t>(chunk.row / kChunkRows) * x.cols;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (j + k < x.cols) parts[j + k] = static_cast<double>(energy[k]);
    }
  }
}

/// The energies, whether to step at all, and the scale of the input.
__device__ __forceinline__ void decide(const Team& team, const DeviceMatrix& x, MatrixStatus& s,
                                       const StepScalars& scalars, InputScale scale) {
  const int n = x.n();
  const bool has_gradient = x.gradient.data != nullptr;
  const bool refused = has_gradient && s.unusable != 0 && scalars.skip_nonfinite;
  double squares = 0;
  if (has_gradient && !refused) {
    for (int j = team.thread; j < n; j += kTeam) {
      double sum = 0;
      for (int part = 0; part < x.column_part_count; ++part)
        sum += x.column_parts[static_cast<std::int64_t>(part) * n + j];
      x.energy[j] = sum;
      squares += sum;
    }
    if (scalars.nesterov) {
      squares = 0;
      for (int c = team.thread; c < x.chunk_count; c += kTeam) squares += x.input_parts[c];
    }
  }
  squares = team.sum(squares);
  if (team.thread != 0) return;
  s.unusable = 0;
  ++s.runs;
  s.active = has_gradient && !refused;
  if (refused) ++*x.skipped;
  if (!s.active) return;
  ++*x.step;
  const InputEps eps{scalars.eps_relative, scalars.eps_absolute, scalars.eps_cap};
  s.input_scale = input_scale(squares, static_cast<double>(x.rows) * x.cols, eps, scale);
}

/// M, and the iteration's input as X.
template <class T, class M, class X>
__device__ __forceinline__ void write_chunk(const Team& team, const DeviceMatrix& x, const MatrixStatus& status,
                                            const Chunk& chunk, const StepScalars& scalars) {
  const bool aligned_x = aligned4<X>(x.input);
  const int with_padding = static_cast<int>(x.input.row_stride);  // or initcheck takes copies of 16 bytes amiss
  if (status.active == 0) {
    const T zero[4] = {};
    for (int i = chunk.row; i < chunk.row_end; ++i)
      store4(row_of<X>(x.input, i), chunk.col + 4 * team.thread, with_padding, aligned_x, zero);
    return;
  }
  const Momentum<T> momentum(scalars);
  const T scale = static_cast<T>(status.input_scale);
  const bool aligned_m = aligned4<M>(x.momentum);
  for_each_four<T, M>(team, x, chunk, [&](int i, int j, const T(&g)[4], const T(&m)[4]) {
    T next[4], input[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      next[k] = momentum.next(m[k], g[k]);
      input[k] = scale * momentum.input(next[k], g[k]);
    }
    store4(row_of<M>(x.momentum, i), j, x.cols, aligned_m, next);
    store4(row_of<X>(x.input, i), j, with_padding, aligned_x, input);
  });
}

}  // namespace trasmuon::cuda
