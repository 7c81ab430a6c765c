// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/device_info.h"

#include "cuda/runtime/check.h"

namespace trasmuon::cuda {

DeviceInfo::DeviceInfo(int device_index) : device(device_index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  multiprocessors = properties.multiProcessorCount;
  memory = properties.totalGlobalMem;
  hopper = properties.major == 9;
}

}  // namespace trasmuon::cuda
