// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/report/groups.h"

#include <gtest/gtest.h>

#include <set>

#include "lab/mechanistic/study.h"
#include "lab/mechanistic/synthetic_mechanistic.h"
#include "lab/recipe/recipe.h"
#include "lab/study/registry.h"

namespace trasmuon::lab {

const std::vector<const Study*>& known_studies() {
  static const std::vector<const Study*> all = {&mechanistic_study()};
  return all;
}

namespace {

TEST(MechanisticGroups, TakeKappaOfThePaperOrTheLargest) {
  RunSet runs = mechanistic_runs();
  EXPECT_EQ(MechanisticGroups(runs).kappa(), 1e4);
  for (SeedGroup& group : runs.groups) group.axes["kappa"] = 100;
  EXPECT_EQ(MechanisticGroups(runs).kappa(), 100);
}

TEST(MechanisticGroups, FindACellAndAControl) {
  const RunSet runs = mechanistic_runs();
  const MechanisticGroups groups(runs);
  EXPECT_EQ(groups.table("noclip"),
            runs.find("table", "noclip", {{"b_basis", "identity"}, {"burst_basis", "columns"}}));
  EXPECT_EQ(groups.table("noclip", kMixed),
            runs.find("table", "noclip", {{"b_basis", "random"}, {"burst_basis", "mixed"}}));
  EXPECT_EQ(groups.at("damping", "clip-sf", {{"damping", "blind"}}),
            runs.find("damping", "clip-sf", {{"damping", "blind"}}));
  EXPECT_EQ(groups.at("damping", "noclip"), nullptr);
}

TEST(MechanisticGroups, ChooseLearningRatesOnOtherSeedsThanTheyReport) {
  RunSet runs = mechanistic_runs();
  const auto scale = [&] { return MechanisticGroups(runs).best_scale("noclip"); };
  EXPECT_EQ(scale(), 0.5);
  // What the reported seeds say does not matter, however clearly.
  for (SeedGroup& group : runs.groups) {
    const bool best = group.part == "lr-sweep" && group.axes["lr_scale"] == 2.0;
    for (RunRecord& run : group.runs)
      if (best) run.summary["final_median"] = 1;
  }
  EXPECT_EQ(scale(), 0.5);
  // Tuning seeds that are reported too do not count.
  for (SeedGroup& group : runs.groups) {
    if (group.part != "tuning") continue;
    for (RunRecord& run : group.runs) run.spec.seed -= 1000;
  }
  EXPECT_EQ(scale(), std::nullopt);
}

TEST(MechanisticGroups, MatchALoss) {
  // noclip at half the learning rate has 4e5, at all others more; clip-sf has 2e5 at 1.
  const RunSet runs = mechanistic_runs();
  EXPECT_EQ(MechanisticGroups(runs).matching_scale("noclip", "clip-sf"), 0.5);
  const RunSet high = mechanistic_runs({.damped = {30, 2.3e6}});
  EXPECT_EQ(MechanisticGroups(high).matching_scale("noclip", "clip-sf"), 2.0);
  EXPECT_TRUE(MechanisticGroups(high).at_edge("noclip", 2.0));
  EXPECT_FALSE(MechanisticGroups(high).at_edge("noclip", 0.5));
}

TEST(MechanisticRecipes, ReportNoSeedThatTunes) {
  for (const char* name : {"mechanistic", "mechanistic-desk"}) {
    const Plan plan = read_recipe(std::string(TRASMUON_SOURCE "/recipes/") + name + ".toml");
    std::set<std::uint64_t> tuning, reported;
    for (const PlannedRun& run : plan.runs) (run.part == "tuning" ? tuning : reported).insert(run.spec.seed);
    EXPECT_GE(tuning.size(), 4u) << name;
    for (const std::uint64_t seed : tuning) EXPECT_FALSE(reported.contains(seed)) << name << " " << seed;
  }
}

TEST(MechanisticRecipes, HaveGatesThatMeetNoBurst) {
  const Plan plan = read_recipe(TRASMUON_SOURCE "/recipes/mechanistic.toml");
  int meet_all = 0, meet_none = 0;
  for (const PlannedRun& run : plan.runs) {
    if (!run.part.starts_with("gate-")) continue;
    const auto& options = std::get<TrasMuonOptions>(run.spec.options);
    const int phase = run.spec.settings["burst_phase"], period = run.spec.settings["burst_period"];
    int bursts = 0, met = 0;
    for (int step = options.warmup + 1; step <= run.spec.settings["steps"].get<int>(); ++step) {
      const bool burst = step % period == phase;
      bursts += burst;
      met += burst && step % options.period == 0;
    }
    EXPECT_TRUE(met == bursts || met == 0) << run.axes;
    (met == bursts ? meet_all : meet_none) += 1;
  }
  EXPECT_GT(meet_all, 0);
  EXPECT_GT(meet_none, meet_all);
}

}  // namespace
}  // namespace trasmuon::lab
