// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/report/groups.h"

#include <gtest/gtest.h>

#include "lab/pinn/report/comparisons.h"
#include "lab/pinn/synthetic_pinn.h"

namespace trasmuon::lab {
namespace {

SeedGroup rate(double lr, const std::vector<double>& errors) {
  const Json settings = {{"lr", lr}};
  return make_group("lr-sweep", "muon", settings, settings, errors.size(), [&](std::uint64_t seed) {
    return Json{{"final_rel_l2", errors[seed]}};
  });
}

TEST(PinnGroups, FindTheBestRateAndTheFirstEvent) {
  const RunSet runs = pinn_runs();
  EXPECT_EQ(best_of(PinnGroups(runs).sweep("muon")), runs.find("lr-sweep", "muon", {{"lr", 0.01}}));
  EXPECT_EQ(PinnGroups(runs).first_event(), 40);
}

TEST(TunedErrors, ASeedsOwnErrorDoesNotChooseItsRate) {
  // Seed 0 alone prefers `low`, the others `high`: each seed is reported at what the other two prefer.
  const SeedGroup low = rate(0.001, {1, 8, 8}), high = rate(0.01, {4, 2, 3});
  EXPECT_EQ(tuned_errors({&low, &high}), (BySeed{{0, 4}, {1, 8}, {2, 8}}));
}

TEST(TunedErrors, NeedSeedsThatRanAtEveryRate) {
  const SeedGroup low = rate(0.001, {1, 8, 8}), partial = rate(0.01, {4, 2}), single = rate(0.1, {4});
  EXPECT_EQ(tuned_errors({&low, &partial}).size(), 2u);
  EXPECT_TRUE(tuned_errors({&low, &single}).empty());
  EXPECT_TRUE(tuned_errors({}).empty());
}

TEST(PinnComparisons, AreCorrectedForTheirNumber) {
  const RunSet runs = pinn_runs({.noise = 0.2});
  const PinnGroups groups(runs);
  const PinnComparisons comparisons(groups);
  ASSERT_NE(comparisons.find(kTable, "final error"), nullptr);
  EXPECT_EQ(comparisons.find(kTable, "final error", "dion"), nullptr);
  for (const PinnComparison& comparison : comparisons.all())
    EXPECT_GE(comparison.effect.adjusted_p, comparison.effect.p) << comparison.where << comparison.quantity;
}

TEST(PinnComparisons, ConclusionsNeedSeeds) {
  const auto effect = [](std::size_t seeds, double factor, double noise) {
    BySeed ours, theirs;
    for (std::size_t seed = 0; seed < seeds; ++seed) {
      theirs[seed] = 1;
      ours[seed] = factor * (seed % 2 == 0 ? 1 + noise : 1 / (1 + noise));
    }
    return paired_effect(ours, theirs);
  };
  EXPECT_EQ(conclusion(effect(10, 0.5, 0.1)), "lower");
  EXPECT_EQ(conclusion(effect(10, 2, 0.1)), "higher");
  EXPECT_EQ(conclusion(effect(10, 1, 0.1)), "about equal");
  EXPECT_EQ(conclusion(effect(10, 1, 2)), "undecided");
  EXPECT_EQ(conclusion(effect(4, 1, 0.1)), "too few seeds to tell");
  EXPECT_EQ(judge_no_worse(effect(10, 1, 0.1)), Verdict::reproduced);
  EXPECT_EQ(judge_no_worse(effect(10, 1, 2)), Verdict::indicated);
  EXPECT_EQ(judge_no_worse(effect(10, 1.5, 0.1)), Verdict::not_reproduced);
}

}  // namespace
}  // namespace trasmuon::lab
