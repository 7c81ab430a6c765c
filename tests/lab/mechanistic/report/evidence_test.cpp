// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/report/evidence.h"

#include <gtest/gtest.h>

#include "lab/mechanistic/report/claims.h"
#include "lab/mechanistic/synthetic_mechanistic.h"

namespace trasmuon::lab {
namespace {

TEST(Evidence, PairsRowsBySeed) {
  const RunSet runs = mechanistic_runs();
  const MechanisticGroups groups(runs);
  const Evidence evidence(groups);
  const Contrast* blind = evidence.find("clip-sf", Question::bursts, kBlindControl);
  ASSERT_NE(blind, nullptr);
  EXPECT_EQ(blind->loss.effect.seeds, 8u);
  EXPECT_NEAR(blind->loss.effect.ratio, 2e5 / 1e6, 1e-9);
  EXPECT_LT(blind->spikes.effect.ratio, 1);
  const Contrast* phases = evidence.find("clip-sf", Question::bursts, "the same, meets none (5 phases)");
  ASSERT_NE(phases, nullptr);
  EXPECT_NEAR(phases->loss.effect.ratio, 2e5 / 1.1e6, 1e-9);
  EXPECT_EQ(evidence.of("clip-sf", Question::placebo).size(), 1u);
  EXPECT_NEAR(evidence.of("clip-sf", Question::placebo).front()->loss.effect.ratio, 1, 1e-12);
}

TEST(Evidence, IsCorrectedForAllOfIt) {
  RunSet runs = mechanistic_runs();
  const MechanisticGroups groups(runs);
  // One comparison with a p of its own: half of the seeds lower, by different amounts.
  for (SeedGroup& group : runs.groups) {
    if (group.part != "damping" || group.axes["damping"] != "permuted") continue;
    for (RunRecord& run : group.runs)
      run.summary["final_median"] = 2e5 * (1 + 0.1 * static_cast<double>(run.spec.seed));
  }
  const Evidence evidence(groups);
  const Contrast* placebo = evidence.find("clip-sf", Question::columns, "c in other columns");
  ASSERT_NE(placebo, nullptr);
  EXPECT_GT(placebo->loss.effect.adjusted_p, placebo->loss.effect.p);
  EXPECT_GT(evidence.comparisons(), 20u);
}

TEST(Evidence, HasAPlaceboForTheClosedLoop) {
  RunSet runs = mechanistic_runs({.seeds = 3});
  EXPECT_FALSE(Evidence(MechanisticGroups(runs)).closed_loop("clip-sf").known());
  const test::TemporaryDirectory folder;
  write_mechanistic_tables(runs, folder);
  const Evidence evidence{MechanisticGroups(runs)};
  const ClosedLoop& loop = evidence.closed_loop("clip-sf");
  EXPECT_EQ(loop.events(), 15u);  // steps 20 .. 60 of three seeds: 10 is in the warm-up
  EXPECT_EQ(loop.period(), 10);
  EXPECT_NEAR(loop.at(0).lowest_falls.at(0), 5.5 / 6, 1e-12);
  EXPECT_NEAR(loop.at(1).lowest_falls.at(0), 0.5 / 5, 1e-12);  // c rises again; the last burst has no step after it
  EXPECT_NEAR(loop.rise(), 1e6 / 3, 1);
  EXPECT_EQ(loop.hit_after(), 0.6);
  EXPECT_EQ(evidence.of("clip-sf", Question::response).size(), 3u);
  for (const Contrast* contrast : evidence.of("clip-sf", Question::response))
    EXPECT_GT(contrast->spikes.effect.ratio, 5) << contrast->treated;
  for (const auto& row : mechanistic_claims(evidence).rows) {
    if (row[0].text.starts_with("A burst raises")) {
      EXPECT_EQ(row[2].text, "reproduced");
    }
  }
}

TEST(Evidence, AFallAtAnyTimeIsNoAnswer) {
  RunSet runs = mechanistic_runs({.seeds = 6});
  const test::TemporaryDirectory folder;
  write_tables(runs, folder, [](const RunSpec& spec, RunLog& log) {
    MetricsTable& table = log.table(
        "metrics", {"step", "loss", "event", "r_q95", "r_max", "c_used_min", "c_hit", "c_mean", "update_rms"});
    for (int step = 0; step <= 60; ++step) {  // c falls and rises in turn, whatever happens
      const double c = step % 2 == 0 ? 0.4 : 0.5;
      table.row({double(step), 1, double(step > 0 && step % 10 == 0), 1, 3 - c + 1e-3 * double(spec.seed), c, c, c, 1});
    }
  });
  const Evidence evidence{MechanisticGroups(runs)};
  bool found = false;
  for (const auto& row : mechanistic_claims(evidence).rows) {
    if (!row[0].text.starts_with("A burst raises")) continue;
    found = true;
    EXPECT_NE(row[2].text, "not reproduced");  // it does fall at every burst, and more often than elsewhere
  }
  EXPECT_TRUE(found);
  const PhaseResponse placebo = evidence.closed_loop("clip-sf").placebo();
  EXPECT_GT(placebo.lowest_falls.at(0), 0.35);  // but the placebo shows how little that means
}

}  // namespace
}  // namespace trasmuon::lab
