// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lab/pinn/findings.h"
#include "lab/pinn/groups.h"
#include "lab/pinn/synthetic_pinn.h"

namespace trasmuon::lab {
namespace {

std::string findings_of(const RunSet& runs) {
  std::string text;
  for (const std::string& finding : pinn_findings(PinnGroups(runs))) text += finding + "\n";
  return text;
}

std::string verdict_on(const RunSet& runs, const std::string& claim) {
  for (const auto& row : pinn_claims(PinnGroups(runs)).rows)
    if (row[0].text.rfind(claim, 0) == 0) return row[2].text;
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(PinnClaims, AreReproducedByNumbersThatShowThem) {
  const RunSet runs = pinn_runs();
  for (const char* claim :
       {"Nearly identical before", "Less extreme fluctuation under events: peaks",
        "Less extreme fluctuation under events: spikes", "Less extreme fluctuation under events: volatility",
        "Final error no worse", "Final error improved", "Comparable step sizes", "Both degrade"})
    EXPECT_EQ(verdict_on(runs, claim), "reproduced") << claim;
  EXPECT_EQ(verdict_on(runs, "Comparable under a shared"), "not reproduced");  // 1e-3 and 2e-3 are apart
}

TEST(PinnClaims, AreNotReproducedByOthers) {
  const RunSet runs = pinn_runs({.muon = 1e-3, .trasmuon = 2e-3, .muon_peak = 3, .trasmuon_peak = 8});
  for (const char* claim :
       {"Less extreme fluctuation under events: peaks", "Final error no worse", "Final error improved"})
    EXPECT_EQ(verdict_on(runs, claim), "not reproduced") << claim;
}

TEST(PinnClaims, AreOnlyIndicatedByThreeSeeds) {
  EXPECT_EQ(verdict_on(pinn_runs({.seeds = 3}), "Final error improved"), "indicated");
  EXPECT_TRUE(has(findings_of(pinn_runs({.seeds = 3})), "too few seeds to be sure"));
}

TEST(PinnClaims, NoWorseIsWeakerThanImproved) {
  const RunSet runs = pinn_runs({.muon = 1e-3, .trasmuon = 1e-3});
  EXPECT_EQ(verdict_on(runs, "Final error no worse"), "reproduced");
  EXPECT_EQ(verdict_on(runs, "Final error improved"), "not reproduced");
  EXPECT_EQ(verdict_on(runs, "Comparable under a shared"), "reproduced");
}

TEST(PinnClaims, LossUnderEventsIsReadFromTheTraces) {
  RunSet runs = pinn_runs();
  EXPECT_EQ(verdict_on(runs, "Comparable or lower training loss"), "");
  const test::TemporaryDirectory folder;
  write_pinn_tables(runs, folder);
  EXPECT_EQ(verdict_on(runs, "Comparable or lower training loss"), "reproduced");
  const BySeed losses = loss_after_events(runs.find("table", "muon"));
  EXPECT_NEAR(losses.at(0), (std::exp(-2.95) + std::exp(-3.05)) / 2, 1e-9);  // the middle two of steps 41 .. 79: 59, 61
}

TEST(PinnClaims, SweepMustTurnUp) {
  RunSet runs = pinn_runs();
  std::erase_if(runs.groups, [](const SeedGroup& group) { return group.axes.value("lr", 0.0) == 0.1; });
  EXPECT_EQ(verdict_on(runs, "Both degrade"), "not reproduced");
}

TEST(PinnFindings, EventsInFavourOrNot) {
  EXPECT_TRUE(has(findings_of(pinn_runs()),
                  "TrasMuon's final error is 2.0 times lower than Muon's with events and no lower without "
                  "(medians of the seeds' "
                  "ratios): the events are in its favour."))
      << findings_of(pinn_runs());
  EXPECT_TRUE(
      has(findings_of(pinn_runs({.muon_calm = 3e-3, .trasmuon_calm = 1e-3})), "the events are not in its favour"));
  EXPECT_TRUE(has(findings_of(pinn_runs({.muon_calm = 2e-3, .trasmuon_calm = 1e-3})),
                  "the events make no clear difference between the two"));
}

TEST(PinnFindings, DampingsOwnPart) {
  EXPECT_TRUE(has(findings_of(pinn_runs()), "The damping helps here."));
  EXPECT_TRUE(
      has(findings_of(pinn_runs({.trasmuon = 2e-3, .trasmuon_peak = 8})), "The damping brings no clear gain here."));
}

TEST(PinnFindings, NameMethodsThatAreBetter) {
  EXPECT_FALSE(has(findings_of(pinn_runs()), "a lower final error than TrasMuon"));
  EXPECT_TRUE(has(findings_of(pinn_runs({.muon = 5e-4})),
                  "Methods with a lower final error than TrasMuon (1.0e-3): Muon (5.2e-4), noclip (5.2e-4)."));
}

TEST(PinnGroups, KnowTheSweepsAxis) {
  const RunSet runs = pinn_runs();
  EXPECT_EQ(PinnGroups(runs).sweep_axis(), "lr");
  EXPECT_EQ(PinnGroups(runs).tuned("muon"), runs.find("lr-sweep", "muon", {{"lr", 0.01}}));
  EXPECT_EQ(PinnGroups(runs).first_event(), 40);
}

}  // namespace
}  // namespace trasmuon::lab
