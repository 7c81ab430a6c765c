// SPDX-License-Identifier: Apache-2.0
#include "lab/records/memory.h"

#include <gtest/gtest.h>

namespace trasmuon::lab {
namespace {

TEST(Memory, IsSaidInUnits) {
  EXPECT_EQ(bytes_text(512), "512 bytes");
  EXPECT_EQ(bytes_text(4096), "4.1 kB");
  EXPECT_EQ(bytes_text(999.6e6), "1 GB");
  EXPECT_EQ(bytes_text(3.44e9), "3.44 GB");
  EXPECT_EQ(bytes_text(4e23), "4e+05 EB");
  EXPECT_GT(usable_memory(), 1e8);
}

}  // namespace
}  // namespace trasmuon::lab
