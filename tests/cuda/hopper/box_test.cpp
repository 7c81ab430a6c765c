// SPDX-License-Identifier: Apache-2.0
#include "cuda/hopper/box.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace trasmuon::cuda {
namespace {

TEST(Box, PiecesFillItOnceAndEightLinesHaveNoBankConflict) {
  std::set<int> offsets;
  for (int line = 0; line < kBoxSide; ++line) {
    for (int piece = 0; piece < kBoxPieces; ++piece) {
      const int offset = box_offset(line, piece);
      EXPECT_EQ(offset % 16, 0);
      EXPECT_LT(offset, kBoxBytes);
      offsets.insert(offset);
    }
  }
  EXPECT_EQ(offsets.size(), std::size_t{kBoxSide * kBoxPieces});
  for (int piece = 0; piece < kBoxPieces; ++piece) {
    std::set<int> banks;
    for (int line = 8; line < 16; ++line) banks.insert(box_offset(line, piece) % 128);
    EXPECT_EQ(banks.size(), 8u);
  }
}

TEST(Box, EveryElementBelongsToOneThread) {
  std::set<std::pair<int, int>> elements;
  for (int thread = 0; thread < 128; ++thread) {
    for (int eight = 0; eight < 8; ++eight) {
      for (int row : {fragment_row(thread), fragment_row(thread) + 8}) {
        const int col = fragment_col(thread, eight);
        EXPECT_EQ(fragment_offset(thread, row, eight), box_offset(row, col / 8) + col % 8 * 2);
        elements.insert({row, col});
        elements.insert({row, col + 1});
      }
    }
  }
  EXPECT_EQ(elements.size(), std::size_t{kBoxSide * kBoxSide});
}

/// Emulates stmatrix: of block i, thread l has line l / 4, elements 2 (l % 4) and the next;
/// the line's address is lane 8 i + line's.
TEST(Box, MatrixStoresPutFragmentsWhereTheyAreRead) {
  for (int warp = 0; warp < 4; ++warp) {
    for (int eight = 0; eight < 8; eight += 2) {
      for (int block = 0; block < 4; ++block) {
        for (int lane = 0; lane < 32; ++lane) {
          const int thread = 32 * warp + lane;
          const int row = fragment_row(thread) + block % 2 * 8, col = fragment_col(thread, eight + block / 2);
          EXPECT_EQ(matrix_store_offset(32 * warp + 8 * block + lane / 4, eight) + 4 * (lane % 4),
                    box_offset(row, col / 8) + col % 8 * 2);
          for (int second : {0, 1}) {  // transposed: elements become lines
            const int line = 2 * (lane % 4) + second;
            EXPECT_EQ(transposed_store_offset(32 * warp + 8 * block + line, eight) + 2 * (lane / 4),
                      box_offset(col + second, row / 8) + row % 8 * 2);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace trasmuon::cuda
