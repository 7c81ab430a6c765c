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

/// kTeam threads that work together: a block, or a warpgroup of a larger one with a barrier of its own.
struct Team {
  int thread;
  TeamMemory& memory;
  int barrier = 0;

  __device__ int warp() const { return thread / 32; }
  __device__ int lane() const { return thread % 32; }
  __device__ void sync() const { asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kTeam) : "memory"); }

  /// Whether it is true for one of them.
  __device__ bool any(bool mine) const {
    int result;
    asm volatile(
        "{\n.reg .pred p, q;\nsetp.ne.b32 p, %1, 0;\nbar.red.or.pred q, %2, %3, p;\nselp.b32 %0, 1, 0, q;\n}\n"
        : "=r"(result)
        : "r"(static_cast<int>(mine)), "r"(barrier), "n"(kTeam)
        : "memory");
    return result != 0;
  }

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
