// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lab/mechanistic/findings.h"
#include "lab/mechanistic/groups.h"
#include "lab/mechanistic/synthetic_mechanistic.h"

namespace trasmuon::lab {
namespace {

std::string findings_of(const RunSet& runs) {
  std::string text;
  for (const std::string& finding : mechanistic_findings(MechanisticGroups(runs))) text += finding + "\n";
  return text;
}

/// The verdict on the claim that starts so; empty if it is not in the table.
std::string verdict_on(const RunSet& runs, const std::string& claim) {
  for (const auto& row : mechanistic_claims(MechanisticGroups(runs)).rows)
    if (row[0].text.rfind(claim, 0) == 0) return row[2].text;
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(MechanisticGroups, TakeKappaOfThePaperOrTheLargest) {
  RunSet runs = mechanistic_runs();
  EXPECT_EQ(MechanisticGroups(runs).kappa(), 1e4);
  std::erase_if(runs.groups, [](const SeedGroup& group) { return setting_of(group, "kappa") == 1e4; });
  EXPECT_EQ(MechanisticGroups(runs).kappa(), 100);
}

TEST(MechanisticGroups, FindTheControls) {
  const RunSet runs = mechanistic_runs();
  const MechanisticGroups groups(runs);
  EXPECT_EQ(groups.uniform_c(), runs.find("uniform", "uniform-c"));
  EXPECT_EQ(groups.smaller_step(), nullptr);
  EXPECT_EQ(groups.tuned("noclip"), runs.find("lr-sweep", "noclip", {{"lr_scale", 0.5}}));
  EXPECT_TRUE(groups.at_edge("noclip"));
}

TEST(MechanisticFindings, GainWithoutBurstsIsNoAnswerToThem) {
  const std::string text = findings_of(mechanistic_runs({.noclip_calm = 1e6, .damped_calm = 1.6e5}));
  EXPECT_TRUE(has(
      text,
      "makes the final loss 6.0 times lower with bursts and 6.2 times lower without: most of the gain in loss is not a "
      "response to bursts"))
      << text;
}

TEST(MechanisticFindings, GainUnderBurstsAloneIsAnAnswer) {
  const std::string text = findings_of(mechanistic_runs({.noclip_calm = 1e6, .damped_calm = 9.5e5}));
  EXPECT_TRUE(
      has(text, "6.0 times lower with bursts and 1.05 times lower without: the gain in loss is a response to bursts"))
      << text;
}

TEST(MechanisticFindings, HalfAGainIsHalfAnAnswer) {
  EXPECT_TRUE(has(findings_of(mechanistic_runs({.noclip_calm = 1e6, .damped_calm = 5e5})),
                  "part of the gain in loss is not a response"));
}

TEST(MechanisticFindings, NoGainIsSaid) {
  const RunSet runs = mechanistic_runs({.noclip = 1e6, .damped = 2e6, .spikes_noclip = 30, .spikes_damped = 40});
  EXPECT_TRUE(has(findings_of(runs), "2.0 times higher with bursts")) << findings_of(runs);
  EXPECT_TRUE(has(findings_of(runs), "it does not help under bursts"));
  EXPECT_TRUE(has(findings_of(runs), "Damping removes no spikes: the median seed has 10 more."));
  EXPECT_EQ(verdict_on(runs, "Damping lowers the number of spikes"), "not reproduced");
  EXPECT_EQ(verdict_on(runs, "Damping lowers the final loss"), "not reproduced");
}

TEST(MechanisticFindings, SmallerStepExplainsAllSomeOrNothing) {
  EXPECT_TRUE(has(findings_of(mechanistic_runs()),
                  "Damping is not just a smaller step: clip-sf's final loss is 4.5 times lower"));
  EXPECT_TRUE(has(findings_of(mechanistic_runs({.uniform = 1e5})),
                  "A smaller step explains part of what damping does, contrary to the paper"));
  const RunSet all = mechanistic_runs({.uniform = 1e5, .tuned_noclip = 5e4, .tuned_damped = 1e5});
  EXPECT_TRUE(has(findings_of(all), "A smaller step does as much as damping, contrary to the paper"));
  EXPECT_EQ(verdict_on(all, "Not a trivial"), "not reproduced");
  EXPECT_EQ(verdict_on(mechanistic_runs({.uniform = 1e5}), "Not a trivial"), "in part");
  EXPECT_EQ(verdict_on(mechanistic_runs(), "Not a trivial"), "reproduced");
  EXPECT_EQ(verdict_on(mechanistic_runs({.seeds = 4}), "Not a trivial"), "indicated");
  EXPECT_TRUE(has(findings_of(mechanistic_runs({.seeds = 4})), "Damping seems to be more than a smaller step"));
}

TEST(MechanisticFindings, PoorSharedLearningRateIsSaid) {
  EXPECT_FALSE(has(findings_of(mechanistic_runs()), "poor one for noclip"));
  EXPECT_TRUE(has(findings_of(mechanistic_runs({.tuned_noclip = 1.5e5})),
                  "The table's learning rate is a poor one for noclip: at lr × 0.5 (the edge of the sweep) it ends "
                  "1.33 times lower"));
}

TEST(MechanisticFindings, CountBrokenBounds) {
  RunSet runs = mechanistic_runs({.seeds = 2});
  EXPECT_TRUE(has(findings_of(runs), "was broken 0 times and c left [c_min, 1] 0 times"));
  for (SeedGroup& group : runs.groups)
    if (group.method == "clip-sf" && group.part == "no-bursts") group.runs[0].summary["bound_violations"] = 3;
  EXPECT_TRUE(has(findings_of(runs), "was broken 3 times"));
  // A run that another part has too still counts once.
  for (const SeedGroup& group : std::vector(runs.groups))
    if (group.method == "clip-sf" && group.part == "no-bursts") runs.groups.push_back(group);
  EXPECT_TRUE(has(findings_of(runs), "was broken 3 times"));
}

TEST(MechanisticFindings, NameMethodsThatAreBetter) {
  EXPECT_FALSE(has(findings_of(mechanistic_runs()), "Fewer spikes than clip-sf"));
  EXPECT_TRUE(has(findings_of(mechanistic_runs({.spikes_noclip = 20})),
                  "Fewer spikes than clip-sf (31) under bursts: NorMuon (21), noclip (21)."))
      << findings_of(mechanistic_runs({.spikes_noclip = 20}));
}

TEST(MechanisticClaims, MixedBasisMustHalveTheAdvantage) {
  EXPECT_EQ(verdict_on(mechanistic_runs(), "With a mixed column basis"), "reproduced");
  EXPECT_EQ(verdict_on(mechanistic_runs({.noclip_mixed = 1e6, .damped_mixed = 2e5}), "With a mixed column basis"),
            "not reproduced");
}

TEST(MechanisticClaims, GainMustNeedBursts) {
  EXPECT_EQ(verdict_on(mechanistic_runs({.noclip_calm = 1e6, .damped_calm = 1.6e5}), "The lower loss"),
            "not reproduced");
  EXPECT_EQ(verdict_on(mechanistic_runs({.noclip_calm = 1e6, .damped_calm = 5e5}), "The lower loss"), "in part");
  EXPECT_EQ(verdict_on(mechanistic_runs({.noclip_calm = 1e6, .damped_calm = 9.5e5}), "The lower loss"), "reproduced");
  EXPECT_EQ(verdict_on(mechanistic_runs({.damped = 2e6}), "The lower loss"), "");
}

TEST(MechanisticClaims, ClosedLoopIsReadFromTheTraces) {
  RunSet runs = mechanistic_runs({.seeds = 2});
  EXPECT_EQ(verdict_on(runs, "A burst raises"), "");
  const test::TemporaryDirectory folder;
  write_mechanistic_tables(runs, folder);
  EXPECT_EQ(verdict_on(runs, "A burst raises"), "reproduced");
  const ClosedLoop loop = closed_loop(MechanisticGroups(runs).table("clip-sf"));
  EXPECT_EQ(loop.events, 8u);  // steps 20 .. 50 of two seeds: 10 is in the warm-up, 60 the last
  EXPECT_EQ(loop.lowest_falls, 8u);
  EXPECT_NEAR(loop.rise, 1e6 / 3, 1);
  EXPECT_EQ(loop.hit_after, 0.6);
}

TEST(MechanisticClaims, MissingCellsAreLeftOut) {
  RunSet runs = mechanistic_runs();
  std::erase_if(runs.groups, [](const SeedGroup& group) { return group.part != "table" || group.method != "noclip"; });
  EXPECT_TRUE(mechanistic_claims(MechanisticGroups(runs)).rows.empty());
}

TEST(BurstEffect, IsADifferenceOfDifferences) {
  const RunSet runs = mechanistic_runs({.noclip = 1.2e6, .damped = 2e5, .noclip_calm = 1e6, .damped_calm = 2.5e5});
  const BurstEffect effect = burst_effect(MechanisticGroups(runs));
  EXPECT_NEAR(effect.with_bursts.median, 6, 1e-9);
  EXPECT_NEAR(effect.without.median, 4, 1e-9);
  EXPECT_NEAR(effect.ratio.median, 1.5, 1e-9);
  EXPECT_EQ(effect.pairing.lower, 8u);
  EXPECT_NEAR(effect.share, std::log(4.0) / std::log(6.0), 1e-9);
}

}  // namespace
}  // namespace trasmuon::lab
