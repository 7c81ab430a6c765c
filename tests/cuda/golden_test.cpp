// SPDX-License-Identifier: Apache-2.0
#include "support/golden.h"

#include <filesystem>

#include "cuda_memory.h"

namespace trasmuon::test {
namespace {

using CudaGolden = OnGpu;

TEST_F(CudaGolden, EveryFileInBothTypes) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TRASMUON_GOLDEN_DIR)) {
    if (!entry.is_regular_file()) continue;
    for (DType dtype : {DType::f64, DType::f32}) {
      const Deviation deviation = replay_golden(entry.path().string(), dtype, memory);
      EXPECT_LE(deviation.worst, golden_tolerance(dtype)) << entry.path() << " " << deviation.where;
      EXPECT_GT(deviation.compared, 0) << entry.path();
    }
    ++files;
  }
  EXPECT_EQ(files, 24);
}

}  // namespace
}  // namespace trasmuon::test
