// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "cuda/runtime/check.h"

namespace trasmuon::cuda {

/// Makes a device the current one of this thread; the destructor restores the previous one.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) : device_(device) {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    if (device_ != previous_) check(cudaSetDevice(device_), "cudaSetDevice");
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  ~DeviceGuard() {
    if (device_ != previous_) (void)cudaSetDevice(previous_);
  }

 private:
  int device_, previous_ = 0;
};

}  // namespace trasmuon::cuda
