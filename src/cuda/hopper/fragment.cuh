// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "cuda/hopper/barrier.cuh"
#include "cuda/hopper/box.h"

namespace trasmuon::cuda {

/// Stores four 8 x 8 blocks from a warp's registers to shared memory; each lane supplies the address of one line.
__device__ __forceinline__ void store_matrix4(const void* to, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                              std::uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(to)), "r"(a),
               "r"(b), "r"(c), "r"(d)
               : "memory");
}

__device__ __forceinline__ void store_matrix4_transposed(const void* to, std::uint32_t a, std::uint32_t b,
                                                         std::uint32_t c, std::uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(to)),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

/// Two numbers rounded to T, in one register.
template <class T>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
  if constexpr (std::is_same_v<T, __half>) {
    const __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&pair);
  } else {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&pair);
  }
}

template <class T>
__device__ __forceinline__ float2 unpack(std::uint32_t pair) {
  if constexpr (std::is_same_v<T, __half>) return __half22float2(*reinterpret_cast<const __half2*>(&pair));
  else return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&pair));
}

/// What one thread holds of a rounded 64 x 64 result: one pair of columns of every eight, in two rows. See box.h.
struct Fragment {
  std::uint32_t upper[8], lower[8];

  __device__ __forceinline__ void write(char* box, int thread) const {
#pragma unroll
    for (int j = 0; j < 8; j += 2)
      store_matrix4(box + matrix_store_offset(thread, j), upper[j], lower[j], upper[j + 1], lower[j + 1]);
  }
  __device__ __forceinline__ void write_transposed(char* box, int thread) const {
#pragma unroll
    for (int j = 0; j < 8; j += 2)
      store_matrix4_transposed(box + transposed_store_offset(thread, j), upper[j], lower[j], upper[j + 1],
                               lower[j + 1]);
  }
  __device__ __forceinline__ void read(const char* box, int thread) {
    const int row = fragment_row(thread);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      upper[j] = *reinterpret_cast<const std::uint32_t*>(box + fragment_offset(thread, row, j));
      lower[j] = *reinterpret_cast<const std::uint32_t*>(box + fragment_offset(thread, row + 8, j));
    }
  }
  /// Replaces what lies above the diagonal by what the transposed box holds there.
  __device__ __forceinline__ void take_upper_triangle(const char* transposed, int thread) {
    Fragment other;
    other.read(transposed, thread);
    const int row = fragment_row(thread);
    const auto choose = [&](std::uint32_t& own, std::uint32_t above, int to_diagonal) {
      if (to_diagonal < 0) own = above;
      else if (to_diagonal == 0) own = __byte_perm(own, above, 0x7610);
    };
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int col = fragment_col(thread, j);
      choose(upper[j], other.upper[j], row - col);
      choose(lower[j], other.lower[j], row + 8 - col);
    }
  }
  template <class T>
  __device__ __forceinline__ void average_with(const Fragment& other) {
    const auto mean = [](std::uint32_t a, std::uint32_t b) {
      const float2 x = unpack<T>(a), y = unpack<T>(b);
      return pack<T>(0.5f * (x.x + y.x), 0.5f * (x.y + y.y));
    };
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      upper[j] = mean(upper[j], other.upper[j]);
      lower[j] = mean(lower[j], other.lower[j]);
    }
  }
};

}  // namespace trasmuon::cuda
