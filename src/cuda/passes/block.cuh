// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cuda/passes/step_data.h"

namespace trasmuon::cuda {

/// Combines the x of all `Threads` threads of a block, always in the same order; every thread gets the result.
/// `per_warp`: shared memory for one number per warp.
template <int Threads, class Combine>
__device__ __forceinline__ double block_reduce(double x, double* per_warp, Combine&& combine) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int d = 16; d > 0; d /= 2) x = combine(x, __shfl_xor_sync(~0u, x, d));
  __syncthreads();
  if (thread % 32 == 0) per_warp[thread / 32] = x;
  __syncthreads();
  x = per_warp[0];
  for (int w = 1; w < Threads / 32; ++w) x = combine(x, per_warp[w]);
  return x;
}

template <int Threads>
__device__ __forceinline__ double block_sum(double x, double* per_warp) {
  return block_reduce<Threads>(x, per_warp, [](double a, double b) { return a + b; });
}

constexpr int kBlockThreads = kChunkCols / 4;  // each thread has four neighbouring columns of a chunk

/// Shared memory of a block.
struct BlockMemory {
  double sums[kBlockThreads / 32];
  double rows[kChunkRows][kBlockThreads / 32];
  int counts[256];
  std::uint64_t key;
  int rank;
};

/// A block of kBlockThreads threads and its shared memory. All threads call every method.
struct Block {
  int thread;
  BlockMemory& memory;

  __device__ explicit Block(BlockMemory& shared) : thread(static_cast<int>(threadIdx.x)), memory(shared) {}

  __device__ int warp() const { return thread / 32; }
  __device__ int lane() const { return thread % 32; }
  __device__ void sync() const { __syncthreads(); }
  /// Whether `mine` is true in any thread.
  __device__ bool any(bool mine) const { return __syncthreads_or(mine) != 0; }

  /// Adds up x over the threads for one row of a chunk; row_sum returns it after a barrier.
  __device__ void add_row(int row, double x) const {
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
    if (lane() == 0) memory.rows[row][warp()] = x;
  }
  __device__ double row_sum(int row) const {
    double sum = 0;
    for (double part : memory.rows[row]) sum += part;
    return sum;
  }

  __device__ double sum(double x) const { return block_sum<kBlockThreads>(x, memory.sums); }
  __device__ double largest(double x) const {
    return block_reduce<kBlockThreads>(x, memory.sums, [](double a, double b) { return fmax(a, b); });
  }
};

}  // namespace trasmuon::cuda
