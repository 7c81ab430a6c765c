// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cuda/matrices.h"

namespace trasmuon::cuda {

constexpr int kTeam = kChunkCols / 4;  // threads, four columns each

/// What a team shares.
struct TeamMemory {
  double sums[kTeam / 32];
  double rows[kChunkRows][kTeam / 32];
  int counts[256];
  std::uint64_t key;
  int rank;
};

/// The kTeam threads of a block.
struct Team {
  int thread;
  TeamMemory& memory;

  __device__ explicit Team(TeamMemory& shared) : thread(static_cast<int>(threadIdx.x)), memory(shared) {}

  __device__ int warp() const { return thread / 32; }
  __device__ int lane() const { return thread % 32; }
  __device__ void sync() const { __syncthreads(); }
  /// Whether it is true for one of them.
  __device__ bool any(bool mine) const { return __syncthreads_or(mine) != 0; }

  /// Sums over a row of a chunk: everybody adds, and after a barrier anyone may ask.
  __device__ void add_row(int row, double x) const {
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
    if (lane() == 0) memory.rows[row][warp()] = x;
  }
  __device__ double row_sum(int row) const {
    double sum = 0;
    for (double part : memory.rows[row]) sum += part;
    return sum;
  }

  /// Everybody's x combined, always in the same order.
  template <class Combine>
  __device__ double reduce(double x, Combine&& combine) const {
    for (int d = 16; d > 0; d /= 2) x = combine(x, __shfl_xor_sync(~0u, x, d));
    sync();
    if (lane() == 0) memory.sums[warp()] = x;
    sync();
    x = memory.sums[0];
    for (int w = 1; w < kTeam / 32; ++w) x = combine(x, memory.sums[w]);
    return x;
  }
  __device__ double sum(double x) const {
    return reduce(x, [](double a, double b) { return a + b; });
  }
  __device__ double largest(double x) const {
    return reduce(x, [](double a, double b) { return fmax(a, b); });
  }
};

}  // namespace trasmuon::cuda
