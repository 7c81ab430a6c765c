// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/report/claims.h"

#include <gtest/gtest.h>

#include <limits>

#include "lab/vision/synthetic_vision.h"

namespace trasmuon::lab {
namespace {

/// The verdict on the claim that starts with these words; empty if it is not judged.
std::string verdict(const RunSet& runs, const std::string& claim) {
  const VisionGroups groups(runs);
  for (const auto& row : vision_claims(groups, VisionComparisons(groups)).rows)
    if (row[0].text.starts_with(claim)) return row[2].text;
  return {};
}

TEST(VisionClaims, FollowTheNumbers) {
  const RunSet better = vision_runs(), worse = vision_runs({.trasmuon = 0.47});
  EXPECT_EQ(verdict(better, "TrasMuon is most accurate under bursts"), "reproduced");
  EXPECT_EQ(verdict(worse, "TrasMuon is most accurate under bursts"), "in part");  // better than AdamW only
  EXPECT_EQ(verdict(better, "The Muon family"), "reproduced");
  EXPECT_EQ(verdict(better, "Control: the damping helps"), "reproduced");
  EXPECT_EQ(verdict(worse, "Control: the damping helps"), "not reproduced");
}

TEST(VisionClaims, APlaceboThatDoesAsWellDeniesTheColumns) {
  EXPECT_EQ(verdict(vision_runs({.noise = 0.01}), "Control: it must hit the right columns"), "not reproduced");
  EXPECT_EQ(verdict(vision_runs({.permuted = 0.45}), "Control: it must hit the right columns"), "reproduced");
}

TEST(VisionClaims, AnAdvantageWithoutBurstsIsNotBecauseOfThem) {
  EXPECT_EQ(verdict(vision_runs(), "Control: the advantage is there because of the bursts"), "reproduced");
  RunSet runs = vision_runs();
  for (SeedGroup& group : runs.groups) {  // the same errors as with bursts
    if (group.part != "no-bursts") continue;
    for (std::size_t i = 0; i < group.runs.size(); ++i)
      group.runs[i].summary = runs.find("shared", group.method)->runs[i].summary;
  }
  EXPECT_EQ(verdict(runs, "Control: the advantage is there because of the bursts"), "not reproduced");
}

TEST(VisionClaims, LearningRatesAreAControl) {
  EXPECT_EQ(verdict(vision_runs({.noise = 0.01}), "Control: most accurate with each method at its own"),
            "not reproduced");
  EXPECT_EQ(verdict(vision_runs({.trasmuon_at_best = 0.2}), "Control: most accurate with each method at its own"),
            "reproduced");
}

TEST(VisionClaims, StepSizesAreAControl) {
  EXPECT_EQ(verdict(vision_runs(), "Control: most accurate with updates of the same RMS"), "reproduced");
  EXPECT_EQ(verdict(vision_runs({.matched = 0.7}), "Control: most accurate with updates of the same RMS"),
            "not reproduced");
}

TEST(VisionClaims, FewSeedsDenyNothing) {
  const RunSet runs = vision_runs({.seeds = 3, .trasmuon = 0.45, .noise = 0.05});
  EXPECT_EQ(verdict(runs, "Control: the damping helps"), "too few seeds");
  EXPECT_EQ(verdict(runs, "TrasMuon varies least"), "too few seeds");
}

TEST(VisionClaims, ASmallerSpreadIsOnlyIndicated) {
  EXPECT_EQ(verdict(vision_runs(), "TrasMuon varies least"), "indicated");  // in proportion to the errors
  EXPECT_EQ(verdict(vision_runs({.noise = 0.1}), "TrasMuon varies least"), "not reproduced");
}

TEST(VisionClaims, WithoutRunsThereIsNoVerdict) {
  RunSet runs = vision_runs();
  runs.groups.clear();
  const VisionGroups groups(runs);
  EXPECT_TRUE(vision_claims(groups, VisionComparisons(groups)).rows.empty());
  EXPECT_TRUE(vision_findings(groups).empty());
}

TEST(VisionFindings, TellTheGatesResponseAndNaturalRatios) {
  const test::TemporaryDirectory folder;
  RunSet runs = vision_runs();
  write_vision_tables(runs, folder);
  std::string all;
  for (const std::string& sentence : vision_findings(VisionGroups(runs))) all += sentence + "\n";
  EXPECT_NE(all.find("Muon 3e-3 (68.95 ± 0.73 %; the sweep ends there)"), std::string::npos) << all;
  EXPECT_NE(all.find("TrasMuon 1e-3 (68.95 ± 0.73 %)"), std::string::npos) << all;
  EXPECT_NE(all.find("keep 25 % of their update, and all columns 88 %"), std::string::npos) << all;
  EXPECT_NE(all.find("median 7, 25 % of the matrices"), std::string::npos) << all;
}

TEST(AccuracyText, CountsDivergedRunsApart) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(accuracy_text({0.40, 0.42, 0.44}), "58.00 ± 2.00 %");
  EXPECT_EQ(accuracy_text({0.40}), "60.00 %");
  EXPECT_EQ(accuracy_text({0.40, infinity}), "60.00 %, 1 of 2 diverged");
  EXPECT_EQ(accuracy_text({infinity}), "–, 1 of 1 diverged");
  EXPECT_EQ(accuracy_text({}), "–");
}

}  // namespace
}  // namespace trasmuon::lab
