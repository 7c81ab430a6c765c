// SPDX-License-Identifier: Apache-2.0
#include "lab/report/verdict.h"

#include <gtest/gtest.h>

namespace trasmuon::lab {
namespace {

Spread quartiles(double median, double low, double high) { return {8, median, low, high}; }

/// A method of median 10 against a baseline, lower in so many of 8 seeds.
Comparison against(std::size_t lower, const Spread& baseline) {
  return {quartiles(10, 9, 11), baseline, {lower, 8 - lower, 0, sign_test(lower, 8 - lower)}, {}};
}

TEST(Relation, IsApartOnlyWithoutOverlap) {
  EXPECT_EQ(relation_of(quartiles(28, 24, 34), quartiles(48, 38, 56)), Relation::lower);
  EXPECT_EQ(relation_of(quartiles(48, 38, 56), quartiles(28, 24, 34)), Relation::higher);
  EXPECT_EQ(relation_of(quartiles(74, 67, 80), quartiles(80, 74, 87)), Relation::similar);
}

TEST(Verdict, DirectionAsksThreeQuartersOfTheSeedsAndLuckExcluded) {
  const auto verdict = [&](std::size_t lower) { return judge(Relation::lower, against(lower, quartiles(20, 15, 25))); };
  EXPECT_EQ(verdict(8), Verdict::reproduced);
  EXPECT_EQ(verdict(7), Verdict::indicated);  // p = 0.07
  EXPECT_EQ(verdict(6), Verdict::indicated);
  EXPECT_EQ(verdict(5), Verdict::not_reproduced);
}

TEST(Verdict, HigherIsADirectionToo) {
  EXPECT_EQ(judge(Relation::higher, against(0, quartiles(5, 4, 6))), Verdict::reproduced);
  EXPECT_EQ(judge(Relation::higher, against(2, quartiles(5, 4, 6))), Verdict::indicated);
  EXPECT_EQ(judge(Relation::higher, against(8, quartiles(5, 4, 6))), Verdict::not_reproduced);
}

TEST(Verdict, SimilarAsksForOverlap) {
  EXPECT_EQ(judge(Relation::similar, against(8, quartiles(12, 10, 14))), Verdict::reproduced);
  EXPECT_EQ(judge(Relation::similar, against(4, quartiles(20, 15, 25))), Verdict::not_reproduced);
}

TEST(Verdict, IsWordedForTablesAndClaims) {
  EXPECT_EQ(table_verdict(Verdict::inside).text, "inside the paper's IQR");
  EXPECT_EQ(table_verdict(Verdict::reproduced).text, "direction reproduced");
  EXPECT_EQ(table_verdict(Verdict::indicated).text, "direction indicated");
  EXPECT_EQ(table_verdict(Verdict::not_reproduced).text, "not reproduced");
  EXPECT_EQ(table_verdict(Verdict::unknown).text, "not run");
  EXPECT_EQ(claim_verdict(Verdict::reproduced).text, "reproduced");
  EXPECT_EQ(claim_verdict(Verdict::indicated).text, "indicated");
}

}  // namespace
}  // namespace trasmuon::lab
