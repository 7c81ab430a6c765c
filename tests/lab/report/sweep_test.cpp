// SPDX-License-Identifier: Apache-2.0
#include "lab/report/statistics/sweep.h"

#include <gtest/gtest.h>

#include "lab/support/synthetic_runs.h"

namespace trasmuon::lab {
namespace {

constexpr const char* kKey = "final_error";

SeedGroup rate(double lr, const std::vector<double>& errors) {
  const Json settings = {{"lr", lr}};
  return make_group("lr-sweep", "muon", settings, settings, errors.size(), [&](std::uint64_t seed) {
    return Json{{kKey, errors[seed]}};
  });
}

TEST(Sweep, TheBestGroupHasTheLowestGeometricMean) {
  const SeedGroup low = rate(0.001, {1, 8, 8}), high = rate(0.01, {4, 2, 3}), none = rate(0.1, {});
  EXPECT_EQ(best_of({&none, &low, &high}, kKey), &high);
  EXPECT_EQ(best_of({&low, &high}, kKey, {1, 2}), &low);
  EXPECT_EQ(best_of({&none}, kKey), nullptr);
}

TEST(Sweep, ASeedsOwnNumberDoesNotChooseItsRate) {
  // Seed 0 alone prefers `low`, the others `high`: each seed is reported at what the other two prefer.
  const SeedGroup low = rate(0.001, {1, 8, 8}), high = rate(0.01, {4, 2, 3});
  EXPECT_EQ(tuned({&low, &high}, kKey), (BySeed{{0, 4}, {1, 8}, {2, 8}}));
}

TEST(Sweep, TuningNeedsSeedsThatRanAtEveryRate) {
  const SeedGroup low = rate(0.001, {1, 8, 8}), partial = rate(0.01, {4, 2}), single = rate(0.1, {4});
  EXPECT_EQ(tuned({&low, &partial}, kKey).size(), 2u);
  EXPECT_TRUE(tuned({&low, &single}, kKey).empty());
  EXPECT_TRUE(tuned({}, kKey).empty());
}

}  // namespace
}  // namespace trasmuon::lab
