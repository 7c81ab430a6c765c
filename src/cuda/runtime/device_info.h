// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "cuda/runtime/blas.h"

namespace trasmuon::cuda {

/// Properties of a device, and its cuBLAS handle.
struct DeviceInfo {
  int device = 0, multiprocessors = 0;
  std::size_t memory = 0;
  bool hopper = false;  ///< compute capability 9.x: the kernels of hopper/ run here
  Blas blas;
  explicit DeviceInfo(int device_index);
  DeviceInfo(const DeviceInfo&) = delete;
  DeviceInfo& operator=(const DeviceInfo&) = delete;
};

}  // namespace trasmuon::cuda
