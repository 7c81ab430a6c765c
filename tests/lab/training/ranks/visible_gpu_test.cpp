// SPDX-License-Identifier: Apache-2.0
#include "lab/training/ranks/visible_gpu.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

TEST(VisibleGpu, IsTheRanksOwn) {
  EXPECT_EQ(gpu_of_rank(nullptr, 3, 4), "3");
  EXPECT_EQ(gpu_of_rank("2,5,7", 0, 2), "2");
  EXPECT_EQ(gpu_of_rank("2,5,7", 1, 2), "5");
}

TEST(VisibleGpu, MustBeThereForEveryRank) {
  EXPECT_EQ(test::error_of([] { gpu_of_rank("2,5,7", 0, 4); }),
            "ranks must be <= 3, the GPUs in CUDA_VISIBLE_DEVICES, got 4");
}

}  // namespace
}  // namespace trasmuon::lab
