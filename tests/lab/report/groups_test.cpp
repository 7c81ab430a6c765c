// SPDX-License-Identifier: Apache-2.0
#include "lab/report/statistics/groups.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lab/mechanistic/synthetic_mechanistic.h"
#include "lab/report/figures/curves.h"

namespace trasmuon::lab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

SeedGroup losses(const std::vector<Json>& values) {
  return make_group("table", "noclip", {}, {}, values.size(), [&](std::uint64_t seed) {
    return Json{{"final_loss", values[seed]}};
  });
}

TEST(Groups, AreFoundByAxisSettingOrField) {
  const RunSet runs = mechanistic_runs();
  EXPECT_EQ(find_group(runs, "no-bursts", "noclip", {{"kappa", 1e4}, {"b_basis", "identity"}}),
            runs.find("no-bursts", "noclip"));
  EXPECT_EQ(find_group(runs, "no-bursts", "noclip", {{"kappa", 1e2}}), nullptr);
  EXPECT_EQ(find_groups(runs, "table", "noclip", {{"b_basis", "random"}}).size(), 2u);
  EXPECT_EQ(find_groups(runs, "", "", {{"damping", "blind"}}).size(), 1u);
  EXPECT_EQ(setting_of(*runs.find("damping", "clip-sf", {{"damping", "blind"}}), "warmup"), 15);
  EXPECT_TRUE(setting_of(*runs.find("no-bursts", "noclip"), "no_such_setting").is_null());
}

TEST(Groups, WithoutRunsMatchWhatIsNotKnown) {
  RunSet runs = mechanistic_runs();
  for (SeedGroup& group : runs.groups) group.runs.clear();
  EXPECT_NE(find_group(runs, "no-bursts", "noclip", {{"kappa", 1e4}}), nullptr);
  EXPECT_TRUE(by_seed(find_group(runs, "no-bursts", "noclip"), "spikes").empty());
  EXPECT_TRUE(by_seed(nullptr, "spikes").empty());
}

TEST(Groups, ADivergedRunIsInfinite) {
  const SeedGroup group = losses({1.0, nullptr, 3.0});
  EXPECT_EQ(by_seed(&group, "final_loss"), (BySeed{{0, 1}, {1, kInfinity}, {2, 3}}));
  EXPECT_EQ(spread_of(&group, "final_loss").median, 3);
}

TEST(Groups, NullWithoutDivergenceIsMissing) {
  const SeedGroup group = make_group("table", "muon", {}, {}, 2, [](auto) {
    return Json{{"final_loss", 1.0}, {"spike_peak", nullptr}, {"recovery_steps", nullptr}};
  });
  EXPECT_EQ(spread_of(&group, "spike_peak").count, 0u);
  EXPECT_EQ(spread_of(&group, "recovery_steps").count, 0u);
}

TEST(Comparison, SpeaksOfTheLargerSide) {
  const SeedGroup low = losses({1, 1, 1, 5}), high = losses({2, 2, 2, 2});
  EXPECT_EQ(compare(&low, &high, "final_loss").text(), "1 against 2, lower in 3 of 4 seeds (p = 0.62)");
  EXPECT_EQ(compare(&high, &low, "final_loss").seeds(), "higher in 3/4");
  EXPECT_EQ(compare(&low, &high, "final_loss").factor.median, 2);
  EXPECT_EQ(compare(&low, &low, "final_loss").seeds(), "equal in 4/4");
  EXPECT_FALSE(compare(&low, nullptr, "final_loss").known());
}

TEST(Curves, DivergedRunsPullTheBandUp) {
  RunSet runs = mechanistic_runs({.seeds = 3});
  const test::TemporaryDirectory folder;
  write_mechanistic_tables(runs, folder);
  SeedGroup& group = runs.groups.front();
  test::write_file((group.runs[1].folder / "metrics.csv").string(), "step,loss\n0,1\n1,inf\n");
  test::write_file((group.runs[2].folder / "metrics.csv").string(), "step,loss\n0,1\n1,inf\n");
  const Line line = seed_band(group, "metrics", "loss");
  ASSERT_EQ(line.x.size(), 61u);
  EXPECT_EQ(line.y[0], 1);
  EXPECT_EQ(line.y[40], kInfinity);
}

TEST(Curves, LongTablesAreBinned) {
  RunSet runs = mechanistic_runs({.seeds = 1});
  const test::TemporaryDirectory folder;
  write_mechanistic_tables(runs, folder);
  std::string table = "step,loss\n";
  for (int step = 0; step < 1000; ++step) table += std::to_string(step) + "," + std::to_string(step % 4) + "\n";
  test::write_file((runs.groups.front().runs[0].folder / "metrics.csv").string(), table);
  const Line line = seed_band(runs.groups.front(), "metrics", "loss", 250);
  ASSERT_EQ(line.x.size(), 250u);
  EXPECT_EQ(line.x[1], 5.5);
  EXPECT_EQ(line.y[1], 1.5);
}

TEST(Curves, EventsAreSetAgainstTheStepBefore) {
  RunSet runs = mechanistic_runs({.seeds = 2});
  const test::TemporaryDirectory folder;
  write_mechanistic_tables(runs, folder);
  const Line line = event_band(runs.groups.front(), "r_max", 2, 3, 0.5);
  EXPECT_EQ(line.x, (std::vector<double>{-2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(line.y, (std::vector<double>{1, 1, 1e6 / 3, 1, 1, 1}));
}

TEST(Curves, RunsWithoutATraceHaveNone) {
  const RunSet runs = mechanistic_runs();
  EXPECT_TRUE(seed_band(runs.groups.front(), "metrics", "loss").x.empty());
  EXPECT_TRUE(event_band(runs.groups.front(), "loss", 2, 3, 0.5).x.empty());
}

TEST(Curves, AnAxisIsSorted) {
  const RunSet runs = mechanistic_runs();
  const Line line = axis_band(find_groups(runs, "gate-10", "clip-sf"), "burst_phase", "spikes");
  EXPECT_EQ(line.x, (std::vector<double>{0, 1, 3, 5, 7, 9}));
  EXPECT_EQ(line.label, "clip-sf");
}

}  // namespace
}  // namespace trasmuon::lab
