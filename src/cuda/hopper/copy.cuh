// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <cstdint>

#include "cuda/hopper/barrier.cuh"

// Asynchronous copies: of boxes by the tensor memory accelerator, of 16-byte pieces by threads.
namespace trasmuon::cuda {

/// Copies a box of a three-dimensional tensor into shared memory; its bytes count at the barrier.
__device__ __forceinline__ void load_box(void* to, const CUtensorMap* map, std::uint64_t* barrier, int x, int y,
                                         int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z)
      : "memory");
}

/// Copies a box from shared memory to a tensor.
__device__ __forceinline__ void store_box(const CUtensorMap* map, const void* from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(shared_address(from)), "r"(x), "r"(y), "r"(z)
               : "memory");
}

__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/// Waits until the committed stores have read shared memory.
__device__ __forceinline__ void wait_stores_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

/// Waits until the committed stores have written global memory.
__device__ __forceinline__ void wait_stores_done() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

/// Orders ordinary accesses to global memory before and after those of bulk copies.
__device__ __forceinline__ void fence_global_for_copies() { asm volatile("fence.proxy.async.global;" ::: "memory"); }

/// Makes ordinary stores to shared memory visible to bulk copies and matrix products.
__device__ __forceinline__ void fence_shared_for_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Copies `bytes` of 16 bytes from global to shared memory, bypassing L1, and fills the rest with zeros.
__device__ __forceinline__ void copy_piece(void* to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits until all but the last N committed groups of this thread's pieces have arrived.
template <int N>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

}  // namespace trasmuon::cuda
