// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/report/groups.h"

#include <gtest/gtest.h>

#include "lab/pinn/report/comparisons.h"
#include "lab/pinn/synthetic_pinn.h"

namespace trasmuon::lab {
namespace {

TEST(PinnGroups, FindTheBestRateAndTheFirstEvent) {
  const RunSet runs = pinn_runs();
  EXPECT_EQ(best_of(PinnGroups(runs).sweep("muon"), kFinalError), runs.find("lr-sweep", "muon", {{"lr", 0.01}}));
  EXPECT_EQ(PinnGroups(runs).first_event(), 40);
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

}  // namespace
}  // namespace trasmuon::lab
