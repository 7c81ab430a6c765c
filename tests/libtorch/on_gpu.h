// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <cstdlib>

#include "trasmuon/device.h"

namespace trasmuon::libtorch {

/// Skips, with the reason, where there is no GPU, unless TRASMUON_REQUIRE_GPU is set. Where there is one, a backend
/// that cannot use it is a failure.
class LibtorchOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) {
      ASSERT_EQ(std::getenv("TRASMUON_REQUIRE_GPU"), nullptr) << "this LibTorch has no CUDA, or sees no GPU";
      GTEST_SKIP() << "this LibTorch has no CUDA, or sees no GPU";
    }
    ASSERT_EQ(why_unusable(Device::cuda(0)), "");
  }
};

}  // namespace trasmuon::libtorch
