// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Barriers in shared memory, counters in global memory: PTX that has no C++ equivalent.
namespace trasmuon::cuda {

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// A barrier in shared memory that completes a phase after this many arrivals.
__device__ __forceinline__ void barrier_init(std::uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}

/// Arrives, and makes the phase wait for this many bytes of bulk copies too.
__device__ __forceinline__ void barrier_expect_bytes(std::uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void barrier_arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

/// Waits until the phase of this parity is complete.
__device__ __forceinline__ void barrier_wait(std::uint64_t* barrier, std::uint32_t phase) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "again:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}\n" ::"r"(
          shared_address(barrier)),
      "r"(phase)
      : "memory");
}

/// Adds to a counter in global memory; what was written before is visible to those who wait for it.
__device__ __forceinline__ void add_release(unsigned* counter, unsigned value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
}

/// Waits until the counter has reached `value`; sees what was written before each addition.
__device__ __forceinline__ void wait_until(const unsigned* counter, unsigned value) {
  for (;;) {
    unsigned seen;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
    if (seen >= value) return;
    __nanosleep(64);
  }
}

/// Barrier of the 128 threads of one warpgroup.
__device__ __forceinline__ void sync_warpgroup(int group) {
  asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
}

}  // namespace trasmuon::cuda
