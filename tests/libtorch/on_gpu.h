// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <torch/cuda.h>

#include "trasmuon/device.h"

namespace trasmuon::libtorch {

/// Skips, with the reason, where there is no GPU. Where there is one, a backend that cannot use it is a failure.
class LibtorchOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "this LibTorch has no CUDA, or sees no GPU";
    ASSERT_EQ(why_unusable(Device::cuda(0)), "");
  }
};

}  // namespace trasmuon::libtorch
