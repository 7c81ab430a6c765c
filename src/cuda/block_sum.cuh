// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trasmuon::cuda {

/// Sum over the block in a fixed order; every thread gets it. `scratch` holds 33 doubles.
__device__ __forceinline__ double block_sum(double x, double* scratch) {
  for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
  __syncthreads();
  if (threadIdx.x == 0) {
    double sum = 0;
    for (unsigned w = 0; w < (blockDim.x + 31) / 32; ++w) sum += scratch[w];
    scratch[32] = sum;
  }
  __syncthreads();
  return scratch[32];
}

}  // namespace trasmuon::cuda
