// SPDX-License-Identifier: Apache-2.0
#include "lab/report/verdict.h"

#include <gtest/gtest.h>

#include "lab/support/synthetic_runs.h"

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

TEST(Verdict, InsideIsThePapersRangeWithItsEnds) {
  const Spread paper = quartiles(28, 24, 34), baseline = quartiles(48, 38, 56);
  for (const double median : {24.0, 30.0, 34.0})
    EXPECT_EQ(judge(paper, baseline, quartiles(median, 1, 99), {}), Verdict::inside) << median;
  EXPECT_EQ(judge(paper, baseline, quartiles(34.5, 1, 99), {}), Verdict::not_reproduced);
}

TEST(Verdict, DirectionAsksThreeQuartersOfTheSeedsAndLuckExcluded) {
  const Spread paper = quartiles(28, 24, 34), paper_baseline = quartiles(48, 38, 56), baseline = quartiles(20, 15, 25);
  const auto verdict = [&](std::size_t lower) {
    return judge(paper, paper_baseline, quartiles(10, 9, 11), against(lower, baseline));
  };
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
  const Spread paper = quartiles(74, 67, 80), paper_baseline = quartiles(80, 74, 87);
  EXPECT_EQ(judge(paper, paper_baseline, quartiles(10, 9, 11), against(8, quartiles(12, 10, 14))), Verdict::reproduced);
  EXPECT_EQ(judge(paper, paper_baseline, quartiles(10, 9, 11), against(4, quartiles(20, 15, 25))),
            Verdict::not_reproduced);
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

TEST(Verdict, OfNoRunsIsUnknown) {
  EXPECT_EQ(judge(quartiles(1, 1, 1), quartiles(1, 1, 1), spread_of(std::vector<double>{}), {}), Verdict::unknown);
}

TEST(Verdict, AllDivergedIsNotReproduced) {
  const SeedGroup group = make_group("table", "clip-sf", {}, {}, 4, [](auto) { return Json{{"final_loss", nullptr}}; });
  EXPECT_EQ(judge(quartiles(2e5, 1e5, 3e5), quartiles(1e6, 9e5, 2e6), spread_of(&group, "final_loss"),
                  compare(&group, &group, "final_loss")),
            Verdict::not_reproduced);
}

}  // namespace
}  // namespace trasmuon::lab
