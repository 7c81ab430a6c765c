// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/cuda_memory.h"

namespace trasmuon::test {

/// Skips, with the reason, where there is no GPU, unless TRASMUON_REQUIRE_GPU is set. Where there is one, a backend
/// that cannot use it is a failure.
class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    int gpus = 0;
    const cudaError_t error = cudaGetDeviceCount(&gpus);
    if (error != cudaSuccess || gpus == 0) {
      ASSERT_EQ(std::getenv("TRASMUON_REQUIRE_GPU"), nullptr) << "no GPU: " << cudaGetErrorString(error);
      GTEST_SKIP() << "no GPU: " << cudaGetErrorString(error);
    }
    ASSERT_EQ(why_unusable(Device::cuda(0)), "");
  }
  CudaMemory memory;
};

}  // namespace trasmuon::test
