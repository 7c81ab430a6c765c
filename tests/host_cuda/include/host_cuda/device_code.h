// SPDX-License-Identifier: Apache-2.0
#pragma once

// What kernels are written in: keywords, built-in variables and intrinsics. The threads of a block are
// coroutines that give way at barriers and shuffles only, and blocks run one after the other: so atomics are
// plain and shared memory is static.
#include <bit>
#include <cstdint>
#include <cstring>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_size = 1, unsigned y_size = 1, unsigned z_size = 1) : x(x_size), y(y_size), z(z_size) {}
};
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace host_cuda {

/// Waits for all threads of the block that have not returned; whether `mine` was true for one of them.
bool block_barrier(bool mine, const char* name);
/// Waits for the lanes of the mask; the value that lane `source` came with.
std::uint64_t warp_exchange(unsigned mask, std::uint64_t mine, unsigned source, const char* name);
unsigned lane();

template <class T>
T shuffle(unsigned mask, T mine, unsigned source, const char* name) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &mine, sizeof mine);
  bits = warp_exchange(mask, bits, source, name);
  std::memcpy(&mine, &bits, sizeof mine);
  return mine;
}

}  // namespace host_cuda

inline void __syncthreads() { host_cuda::block_barrier(false, "__syncthreads"); }
inline int __syncthreads_or(int mine) { return host_cuda::block_barrier(mine != 0, "__syncthreads_or"); }
inline void __syncwarp(unsigned mask = ~0u) { host_cuda::warp_exchange(mask, 0, host_cuda::lane(), "__syncwarp"); }

template <class T>
T __shfl_xor_sync(unsigned mask, T mine, int lane_mask) {
  return host_cuda::shuffle(mask, mine, host_cuda::lane() ^ static_cast<unsigned>(lane_mask), "__shfl_xor_sync");
}
template <class T>
T __shfl_up_sync(unsigned mask, T mine, unsigned distance) {
  const unsigned lane = host_cuda::lane();
  return host_cuda::shuffle(mask, mine, lane >= distance ? lane - distance : lane, "__shfl_up_sync");
}

template <class T>
T atomicAdd(T* to, T value) {
  const T before = *to;
  *to = before + value;
  return before;
}
inline int atomicOr(int* to, int value) {
  const int before = *to;
  *to = before | value;
  return before;
}

inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
constexpr int min(int a, int b) { return b < a ? b : a; }
constexpr int max(int a, int b) { return a < b ? b : a; }
