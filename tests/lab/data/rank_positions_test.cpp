// SPDX-License-Identifier: Apache-2.0
#include "lab/data/rank_positions.h"

#include <gtest/gtest.h>

#include <set>

namespace trasmuon::lab {
namespace {

TEST(RankPositions, OfAllRanksAreAllPositionsOnce) {
  constexpr int kBatch = 12, kRanks = 3, kSteps = 5;
  std::multiset<std::int64_t> seen;
  for (int rank = 0; rank < kRanks; ++rank) {
    const RankPositions positions(rank * kBatch / kRanks + 2, kBatch, kRanks);
    for (int i = 0; i < kSteps * kBatch / kRanks; ++i) {
      EXPECT_EQ(positions.index(positions.position(i)), i);
      EXPECT_EQ(RankPositions(positions.position(i), kBatch, kRanks), positions);
      seen.insert(positions.position(i));
    }
  }
  std::multiset<std::int64_t> all;
  for (std::int64_t i = 0; i < kSteps * kBatch; ++i) all.insert(i);
  EXPECT_EQ(seen, all);
}

TEST(RankPositions, OfOneRankAreThePositionsThemselves) {
  const RankPositions positions(77, 8, 1);
  for (std::int64_t i = 0; i < 40; ++i) EXPECT_EQ(positions.position(i), i);
}

}  // namespace
}  // namespace trasmuon::lab
