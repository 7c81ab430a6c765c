// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "cuda/hopper/barrier.cuh"
#include "cuda/hopper/box.h"

// Hopper's matrix instruction: D (64 x N, f32, in the registers of a warpgroup) += A B. Both operands are 16 deep, lie
// in shared memory and are given by descriptors. Not transposed means that the depth is contiguous.
namespace trasmuon::cuda {

constexpr int kWgmmaDepth = 16;
/// Bytes by which an operand in a box advances per instruction.
constexpr int depth_bytes(bool by_column) { return kWgmmaDepth * (by_column ? kLineBytes : 2); }

/// Descriptor of an operand with 128-byte swizzle. `leading`: bytes from one box to the next along the contiguous
/// dimension, for transposed operands; `stride`: bytes from eight lines to the next eight.
__device__ __forceinline__ std::uint64_t operand_descriptor(const void* p, int leading, int stride) {
  return static_cast<std::uint64_t>((shared_address(p) & 0x3FFFF) >> 4) |
         static_cast<std::uint64_t>(leading >> 4) << 16 | static_cast<std::uint64_t>(stride >> 4) << 32 | 1ull << 62;
}

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

#define TRASMUON_D32                                                     \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15" \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TRASMUON_D64                                                                 \
  TRASMUON_D32                                                                       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TRASMUON_D96                                                                 \
  TRASMUON_D64                                                                       \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define TRASMUON_D128                                                                            \
  TRASMUON_D96                                                                                   \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define TRASMUON_IO8(d, i)                                                                                    \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define TRASMUON_IO32(d, i) TRASMUON_IO8(d, i), TRASMUON_IO8(d, i + 8), TRASMUON_IO8(d, i + 16), TRASMUON_IO8(d, i + 24)
#define TRASMUON_IO64(d, i) TRASMUON_IO32(d, i), TRASMUON_IO32(d, i + 32)
#define TRASMUON_IO_FIRST32 TRASMUON_IO32(d, 0)
#define TRASMUON_IO_FIRST64 TRASMUON_IO64(d, 0)
#define TRASMUON_IO_FIRST96 TRASMUON_IO64(d, 0), TRASMUON_IO32(d, 64)
#define TRASMUON_IO128 TRASMUON_IO64(d, 0), TRASMUON_IO64(d, 64)
#define TRASMUON_WGMMA(N, TYPE, D, IO, A, B, ACCUMULATE, TRANS_A, TRANS_B)                          \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " ACCUMULATE                                       \
               ", 0;\n"                                                                             \
               "wgmma.mma_async.sync.aligned.m64n" N "k16.f32." TYPE "." TYPE " {" D "}, " A ", " B \
               ", p, 1, 1, " TRANS_A ", " TRANS_B ";\n}\n"                                          \
               : IO                                                                                 \
               : "l"(a), "l"(b), "r"(accumulate), "n"(TransposeA), "n"(TransposeB))

/// Accumulates into the first N / 2 numbers of d; accumulate = 0 starts from zero.
template <class T, int N, int TransposeA, int TransposeB, int Size>
__device__ __forceinline__ void wgmma(float (&d)[Size], std::uint64_t a, std::uint64_t b, int accumulate) {
  static_assert((N == 256 || N == 192 || N == 128 || N == 64) && Size >= N / 2);
  constexpr bool kHalf = std::is_same_v<T, __half>;
  if constexpr (N == 256 && kHalf) {
    TRASMUON_WGMMA("256", "f16", TRASMUON_D128, TRASMUON_IO128, "%128", "%129", "%130", "%131", "%132");
  } else if constexpr (N == 256) {
    TRASMUON_WGMMA("256", "bf16", TRASMUON_D128, TRASMUON_IO128, "%128", "%129", "%130", "%131", "%132");
  } else if constexpr (N == 192 && kHalf) {
    TRASMUON_WGMMA("192", "f16", TRASMUON_D96, TRASMUON_IO_FIRST96, "%96", "%97", "%98", "%99", "%100");
  } else if constexpr (N == 192) {
    TRASMUON_WGMMA("192", "bf16", TRASMUON_D96, TRASMUON_IO_FIRST96, "%96", "%97", "%98", "%99", "%100");
  } else if constexpr (N == 128 && kHalf) {
    TRASMUON_WGMMA("128", "f16", TRASMUON_D64, TRASMUON_IO_FIRST64, "%64", "%65", "%66", "%67", "%68");
  } else if constexpr (N == 128) {
    TRASMUON_WGMMA("128", "bf16", TRASMUON_D64, TRASMUON_IO_FIRST64, "%64", "%65", "%66", "%67", "%68");
  } else if constexpr (kHalf) {
    TRASMUON_WGMMA("64", "f16", TRASMUON_D32, TRASMUON_IO_FIRST32, "%32", "%33", "%34", "%35", "%36");
  } else {
    TRASMUON_WGMMA("64", "bf16", TRASMUON_D32, TRASMUON_IO_FIRST32, "%32", "%33", "%34", "%35", "%36");
  }
}

#undef TRASMUON_WGMMA
#undef TRASMUON_IO128
#undef TRASMUON_IO_FIRST96
#undef TRASMUON_IO_FIRST64
#undef TRASMUON_IO_FIRST32
#undef TRASMUON_IO64
#undef TRASMUON_IO32
#undef TRASMUON_IO8
#undef TRASMUON_D128
#undef TRASMUON_D96
#undef TRASMUON_D64
#undef TRASMUON_D32

}  // namespace trasmuon::cuda
