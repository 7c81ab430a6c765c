// SPDX-License-Identifier: Apache-2.0
//
// The device on the host is no Hopper: the backend never launches these.
#include "cuda/hopper/product_kernel.h"
#include "cuda/hopper/small_kernel.h"

namespace trasmuon::cuda {

cudaError_t launch_product_kernel(const ProductTables&, int, bool, cudaStream_t) {
  return cudaErrorNoKernelImageForDevice;
}

cudaError_t launch_small_kernel(const SmallMatrix*, int, int, const SmallStep*, int, bool, cudaStream_t) {
  return cudaErrorNoKernelImageForDevice;
}

}  // namespace trasmuon::cuda
