// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/report/claims.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lab/mechanistic/report/findings.h"
#include "lab/mechanistic/synthetic_mechanistic.h"

namespace trasmuon::lab {
namespace {

/// The verdict on the claim that starts so; empty if it is not in the table.
std::string verdict_on(const RunSet& runs, const std::string& claim) {
  const MechanisticGroups groups(runs);
  for (const auto& row : mechanistic_claims(Evidence(groups)).rows)
    if (row[0].text.rfind(claim, 0) == 0) return row[2].text;
  return "";
}

std::string findings_of(const RunSet& runs) {
  const MechanisticGroups groups(runs);
  std::string text;
  for (const std::string& finding : mechanistic_findings(groups, Evidence(groups))) text += finding + "\n";
  return text;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(MechanisticClaims, DampingLowersSpikesAndLossOrNot) {
  EXPECT_EQ(verdict_on(mechanistic_runs(), "Damping lowers the number of spikes"), "reproduced");
  EXPECT_EQ(verdict_on(mechanistic_runs(), "Damping lowers the final loss"), "reproduced");
  const RunSet worse = mechanistic_runs({.damped = {60, 2e6}});
  EXPECT_EQ(verdict_on(worse, "Damping lowers the number of spikes"), "not reproduced");
  EXPECT_EQ(verdict_on(worse, "Damping lowers the final loss"), "not reproduced");
}

TEST(MechanisticClaims, AnAnswerToBurstsNeedsGatesThatMeetThem) {
  EXPECT_EQ(verdict_on(mechanistic_runs(), "The fewer spikes are an answer"), "reproduced");
  EXPECT_EQ(verdict_on(mechanistic_runs(), "The lower loss is an answer"), "reproduced");
  // Gates that meet no burst do as well.
  const RunSet same = mechanistic_runs({.blind = {30, 2e5}, .gate_meets_none = {30, 2e5}});
  EXPECT_EQ(verdict_on(same, "The fewer spikes are an answer"), "not reproduced");
  EXPECT_EQ(verdict_on(same, "The lower loss is an answer"), "not reproduced");
  // They do as well in one of the controls.
  EXPECT_EQ(verdict_on(mechanistic_runs({.gate_meets_none = {30, 2e5}}), "The lower loss is an answer"), "in part");
}

TEST(MechanisticClaims, ASmallAnswerIsNone) {
  // Clearly lower than with gates that meet no burst, but these keep most of the effect.
  const RunSet small = mechanistic_runs({.blind = {32, 2.2e5}, .gate_meets_none = {32, 2.2e5}});
  EXPECT_EQ(verdict_on(small, "The lower loss is an answer"), "not reproduced");
}

TEST(MechanisticClaims, WithoutAnEffectThereIsNothingToExplain) {
  EXPECT_EQ(verdict_on(mechanistic_runs({.damped = {48, 1.2e6}}), "The lower loss is an answer"), "");
}

TEST(MechanisticClaims, EveryControlOfTheStepSizeCanRefuteTheClaim) {
  const char* loss = "Not a trivial step-size reduction: final loss";
  EXPECT_EQ(verdict_on(mechanistic_runs(), loss), "reproduced");
  EXPECT_EQ(verdict_on(mechanistic_runs({.mean = {49, 2e5}}), loss), "in part");
  EXPECT_EQ(verdict_on(mechanistic_runs({.tuned_noclip = {20, 1.5e5}}), loss), "in part");
  EXPECT_EQ(verdict_on(mechanistic_runs({.decayed_noclip = {40, 1e4}}), loss), "in part");
  const RunSet all = mechanistic_runs({.mean = {30, 1e5},
                                       .tuned_noclip = {4, 1e5},
                                       .tuned_damped = {4, 1.8e5},
                                       .decayed_noclip = {10, 1e3},
                                       .decayed_damped = {10, 1e4}});
  EXPECT_EQ(verdict_on(all, loss), "not reproduced");
  EXPECT_EQ(verdict_on(all, "Not a trivial step-size reduction: spikes"), "not reproduced");
}

TEST(MechanisticClaims, NoclipIsLikeNorMuonOrNot) {
  EXPECT_EQ(verdict_on(mechanistic_runs(), "Without damping it behaves like NorMuon"), "reproduced");
  RunSet runs = mechanistic_runs();
  for (SeedGroup& group : runs.groups)
    for (RunRecord& run : group.runs)
      if (group.method == "normuon") run.summary["final_median"] = 5e6;
  EXPECT_EQ(verdict_on(runs, "Without damping it behaves like NorMuon"), "not reproduced");
}

TEST(MechanisticClaims, TheBasisOfBIsToldFromThatOfBursts) {
  EXPECT_EQ(verdict_on(mechanistic_runs(), "With a mixed column basis"), "reproduced");
  EXPECT_EQ(verdict_on(mechanistic_runs({.damped_mixed = {40, 1e5}}), "With a mixed column basis"), "not reproduced");
  const RunSet none = mechanistic_runs({.damped_random = {80, 1.5e6}});
  EXPECT_EQ(verdict_on(none, "Damping helps where bursts hit columns"), "not reproduced");
  EXPECT_TRUE(has(findings_of(none), "it multiplies them by 1.00 and 1.00: nothing is left")) << findings_of(none);
  const RunSet helps = mechanistic_runs({.damped_random = {50, 2e5}});
  EXPECT_EQ(verdict_on(helps, "Damping helps where bursts hit columns"), "reproduced");
  EXPECT_TRUE(has(findings_of(helps), ": it stays.")) << findings_of(helps);
}

TEST(MechanisticClaims, MissingRunsAreLeftOut) {
  RunSet runs = mechanistic_runs();
  std::erase_if(runs.groups, [](const SeedGroup& group) { return group.part != "table" || group.method != "noclip"; });
  const MechanisticGroups groups(runs);
  EXPECT_TRUE(mechanistic_claims(Evidence(groups)).rows.empty());
}

TEST(MechanisticFindings, SayWhatEachControlShows) {
  const std::string text = findings_of(mechanistic_runs());
  EXPECT_TRUE(has(text, "With c computed as if there were none, ")) << text;
  EXPECT_TRUE(has(text,
                  "Of 3 pairs in which one gate meets every burst and the other meets none, the first has clearly "
                  "fewer spikes in 3 and a clearly lower loss in 3."))
      << text;
  EXPECT_TRUE(has(text, "which columns are damped matters")) << text;
  EXPECT_TRUE(has(text, "No control that only changes the step reaches clip-sf's loss.")) << text;
  const std::string cut = findings_of(mechanistic_runs({.permuted = {30, 2e5}, .tuned_noclip = {20, 1.5e5}}));
  EXPECT_TRUE(has(cut, "noclip, lr × 0.5, the best cut (loss 1.6e5, 21 spikes)")) << cut;
  EXPECT_TRUE(has(cut, "which columns are damped does not matter")) << cut;
}

TEST(MechanisticFindings, ADetectorThatDoesNotHelpIsNamed) {
  RunSet runs = mechanistic_runs({.damped = {48, 1.2e6}});
  const test::TemporaryDirectory folder;
  write_mechanistic_tables(runs, folder);
  EXPECT_TRUE(has(findings_of(runs),
                  "clip-sf finds the bursts (c of the column hit falls from 1 to 0.6 in the median) "
                  "and does not help: spikes × 1.00 [1.00, 1.00]"))
      << findings_of(runs);
  RunSet helps = mechanistic_runs();
  const test::TemporaryDirectory other;
  write_mechanistic_tables(helps, other);
  EXPECT_FALSE(has(findings_of(helps), "does not help"));
}

TEST(MechanisticFindings, CountBrokenBounds) {
  RunSet runs = mechanistic_runs({.seeds = 2});
  EXPECT_TRUE(has(findings_of(runs), "was broken 0 times and c left [c_min, 1] 0 times"));
  for (SeedGroup& group : runs.groups)
    if (group.method == "clip-sf" && group.part == "no-bursts") group.runs[0].summary["bound_violations"] = 3;
  // A run that another part has too still counts once.
  for (const SeedGroup& group : std::vector(runs.groups))
    if (group.method == "clip-sf" && group.part == "no-bursts") runs.groups.push_back(group);
  EXPECT_TRUE(has(findings_of(runs), "was broken 3 times"));
}

TEST(KeptShare, IsOnALogScale) {
  EXPECT_DOUBLE_EQ(kept_share(0.1, 1), 1);    // the control is like the method
  EXPECT_DOUBLE_EQ(kept_share(0.1, 0.1), 0);  // it is like noclip
  EXPECT_NEAR(kept_share(0.1, std::sqrt(0.1)), 0.5, 1e-12);
}

}  // namespace
}  // namespace trasmuon::lab
