// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <string>

#include "trasmuon/device.h"

namespace trasmuon::libtorch {

/// Skips, with the reason, where there is no GPU.
class LibtorchOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "this LibTorch has no CUDA, or sees no GPU";
    const std::string reason = why_unusable(Device::cuda(0));
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

}  // namespace trasmuon::libtorch
