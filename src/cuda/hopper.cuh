// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

// The pieces of Hopper that have no C++ of their own: barriers in shared memory, bulk tensor
// copies that complete on them, operand descriptors, matrix stores.
namespace trasmuon::cuda {

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void barrier_init(std::uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}

__device__ __forceinline__ void barrier_expect_bytes(std::uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void barrier_arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ __forceinline__ void barrier_wait(std::uint64_t* barrier, std::uint32_t phase) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "again:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}\n" ::"r"(
          shared_address(barrier)),
      "r"(phase)
      : "memory");
}

/// A box of a three-dimensional tensor into shared memory; its bytes arrive at the barrier.
__device__ __forceinline__ void load_box(void* to, const CUtensorMap* map, std::uint64_t* barrier, int x, int y,
                                         int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z)
      : "memory");
}

__device__ __forceinline__ void store_box(const CUtensorMap* map, const void* from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(x), "r"(y), "r"(z)
               : "memory");
}

__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/// The committed stores have left shared memory.
__device__ __forceinline__ void wait_stores_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

__device__ __forceinline__ void wait_stores_done() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

/// Orders ordinary accesses to global memory and those of bulk copies.
__device__ __forceinline__ void fence_global_for_copies() { asm volatile("fence.proxy.async.global;" ::: "memory"); }

__device__ __forceinline__ void add_release(unsigned* counter, unsigned value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
}

/// Returns when the counter has reached `value`, and what was written before it did can be seen.
__device__ __forceinline__ void wait_until(const unsigned* counter, unsigned value) {
  for (;;) {
    unsigned seen;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
    if (seen >= value) return;
    __nanosleep(64);
  }
}

/// 16 bytes from global to shared memory, past the first cache: the first `bytes` of them, zeros after.
__device__ __forceinline__ void copy_piece(void* to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// All but the last N committed groups of this thread's pieces have arrived.
template <int N>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/// Makes ordinary stores to shared memory visible to bulk copies and matrix products.
__device__ __forceinline__ void fence_shared_for_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void sync_warpgroup(int group) {
  asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
}

/// A wgmma operand with 128-byte swizzle: bytes from one 64-wide column of tiles to the next
/// (rows contiguous only), and from one group of eight lines to the next.
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

/// Four 8 x 8 blocks from a warp's registers to shared memory, each lane giving one line's address.
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

}  // namespace trasmuon::cuda
