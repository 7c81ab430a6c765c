// SPDX-License-Identifier: Apache-2.0
#include "stages/arena.h"

#include <gtest/gtest.h>

#include <vector>

namespace trasmuon {
namespace {

TEST(Arena, CountsWithoutABlockAndHandsOutTheSameLayoutWithOne) {
  const auto layout = [](Arena& arena) {
    return std::vector<void*>{arena.take<double>(3), arena.take<char>(257), arena.take_bytes(0), arena.take<float>(1)};
  };
  Arena counter;
  for (const void* piece : layout(counter)) EXPECT_EQ(piece, nullptr);
  EXPECT_EQ(counter.used(), 256u + 512u + 256u);

  std::vector<std::byte> block(counter.used());
  Arena arena(block.data());
  const auto pieces = layout(arena);
  EXPECT_EQ(arena.used(), counter.used());
  EXPECT_EQ(pieces[0], block.data());
  EXPECT_EQ(pieces[1], block.data() + 256);
  EXPECT_EQ(pieces[3], block.data() + 768);
}

}  // namespace
}  // namespace trasmuon
