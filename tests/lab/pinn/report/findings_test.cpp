// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/report/findings.h"

#include <gtest/gtest.h>

#include "lab/pinn/synthetic_pinn.h"

namespace trasmuon::lab {
namespace {

std::string findings_of(const RunSet& runs) {
  const PinnGroups groups(runs);
  std::string text;
  for (const std::string& finding : pinn_findings(groups, PinnComparisons(groups))) text += finding + "\n";
  return text;
}

std::string verdict_on(const RunSet& runs, const std::string& claim) {
  const PinnGroups groups(runs);
  for (const auto& row : pinn_claims(groups, PinnComparisons(groups)).rows)
    if (row[0].text.rfind(claim, 0) == 0) return row[2].text;
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(PinnClaims, AreReproducedByNumbersThatShowThem) {
  const RunSet runs = pinn_runs();
  for (const char* claim : {"Nearly identical before", "Less extreme fluctuation under events: peaks",
                            "Less extreme fluctuation under events: spikes",
                            "Less extreme fluctuation under events: volatility", "Comparable or lower training loss",
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

TEST(PinnClaims, FewSeedsAreSaidAndNotCalledNoDifference) {
  const RunSet runs = pinn_runs({.seeds = 3, .noise = 0.5});
  EXPECT_EQ(verdict_on(runs, "Final error improved"), "too few seeds");
  EXPECT_EQ(verdict_on(runs, "Nearly identical before"), "too few seeds");
  EXPECT_TRUE(has(findings_of(runs), "3 seeds: too few seeds to tell")) << findings_of(runs);
}

TEST(PinnClaims, NoWorseIsWeakerThanImproved) {
  const RunSet runs = pinn_runs({.muon = 1e-3, .trasmuon = 1e-3});
  EXPECT_EQ(verdict_on(runs, "Final error no worse"), "reproduced");
  EXPECT_EQ(verdict_on(runs, "Final error improved"), "not reproduced");
  EXPECT_EQ(verdict_on(runs, "Comparable under a shared"), "reproduced");
}

TEST(PinnClaims, SweepMustTurnUp) {
  RunSet runs = pinn_runs();
  std::erase_if(runs.groups, [](const SeedGroup& group) { return group.axes.value("lr", 0.0) == 0.1; });
  EXPECT_EQ(verdict_on(runs, "Both degrade"), "not reproduced");
}

TEST(PinnFindings, EventsInFavourOrNot) {
  EXPECT_TRUE(has(findings_of(pinn_runs()), "over Muon's: × 0.50 with events, × 1.00 without."))
      << findings_of(pinn_runs());
  EXPECT_TRUE(has(findings_of(pinn_runs()), "the events are in its favour"));
  EXPECT_TRUE(
      has(findings_of(pinn_runs({.muon_calm = 3e-3, .trasmuon_calm = 1e-3})), "the events are to its disadvantage"));
  EXPECT_TRUE(has(findings_of(pinn_runs({.muon_calm = 2e-3, .trasmuon_calm = 1e-3})),
                  "the events make no difference to the comparison"));
  EXPECT_TRUE(
      has(findings_of(pinn_runs({.seeds = 3, .noise = 0.5})), "too few seeds to tell whether the events matter"));
}

TEST(PinnFindings, TellWhereAdamWsRateComesFrom) {
  EXPECT_TRUE(has(findings_of(pinn_runs()),
                  "AdamW's learning rate was searched among 1e-3, 0.01 on 2 seeds that the table does not have: best "
                  "0.01, median final error 0.01; the table has 0.01."))
      << findings_of(pinn_runs());
  EXPECT_TRUE(has(findings_of(pinn_runs({.adamw_lr = 0.001})), "the table has 1e-3, which is not the best."));
}

TEST(PinnFindings, SpikesWithoutEventsAreTold) {
  EXPECT_TRUE(has(findings_of(pinn_runs()),
                  "Spikes with events against those at the same steps without: Muon 82.8 against 12.4"))
      << findings_of(pinn_runs());
}

}  // namespace
}  // namespace trasmuon::lab
