// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/report/event_numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lab/pinn/events.h"
#include "lab/records/files.h"
#include "lab/support/synthetic_runs.h"

namespace trasmuon::lab {
namespace {

constexpr int kFirst = 10, kPeriod = 5, kSteps = 30;  // events at 10, 15, 20, 25

/// One run with this loss, as the study stores it, and the numbers that the report adds.
RunRecord measured(const std::vector<double>& losses, const Json& settings = Json::object(),
                   const Json& summary = Json::object()) {
  Json all = {
      {"events", true}, {"first_event", kFirst}, {"event_period", kPeriod}, {"steps", kSteps}, {"update_rms", 0}};
  all.update(settings);
  RunSet runs{
      .name = "x", .title = "", .study = "pinn", .command = "", .parts = {"table"}, .methods = {"muon"}, .groups = {}};
  runs.groups.push_back(make_group("table", "muon", Json::object(), all, 1, [&](std::uint64_t) { return summary; }));
  const test::TemporaryDirectory folder;
  write_tables(runs, folder, [&](const RunSpec&, RunLog& log) {
    MetricsTable& metrics = log.table("metrics", {"step", "loss"});
    for (std::size_t t = 0; t < losses.size(); ++t) metrics.row({static_cast<double>(t), losses[t]});
    MetricsTable& events = log.table("events", {"step", "baseline", "peak_step", "peak_ratio"});
    for (const EventPeak& peak : find_peaks(losses, kFirst, kPeriod))
      events.row({static_cast<double>(peak.step), peak.baseline, static_cast<double>(peak.peak_step), peak.ratio});
  });
  return with_event_numbers(runs).groups[0].runs[0];
}

std::vector<double> flat() { return std::vector<double>(kSteps, 2.0); }

TEST(EventNumbers, SpikesAreCountedWithTheRule) {
  std::vector<double> losses = flat();
  losses[11] = kSpikeRatio * 2;  // the boundary is no spike
  losses[16] = std::nextafter(kSpikeRatio * 2, 100.0);
  losses[21] = 100;
  losses[15] = 1e6;  // an event's own loss is not judged
  const RunRecord run = measured(losses);
  EXPECT_EQ(run.value("spikes"), 2);
  EXPECT_EQ(run.value("recovered_share"), 1);
  EXPECT_EQ(run.value("recovery_steps"), 2);
}

TEST(EventNumbers, NoSpikesNoRecoveryTime) {
  const RunRecord run = measured(flat());
  EXPECT_EQ(run.value("spikes"), 0);
  EXPECT_TRUE(std::isnan(run.value("recovery_steps")));
  EXPECT_TRUE(std::isnan(run.value("recovered_share")));
}

TEST(EventNumbers, NoEventsNoRecoveryTime) {
  std::vector<double> losses = flat();
  losses[11] = 100;
  const RunRecord run = measured(losses, {{"events", false}});
  EXPECT_EQ(run.value("spikes"), 1);  // of the same steps, for comparison
  EXPECT_TRUE(std::isnan(run.value("recovery_steps")));
  EXPECT_TRUE(std::isnan(run.value("recovered_share")));
}

TEST(EventNumbers, ASpikeThatDoesNotRecoverCountsInTheShareAlone) {
  std::vector<double> losses = flat();
  losses[11] = 100;
  losses[16] = losses[17] = losses[18] = losses[19] = 100;
  const RunRecord run = measured(losses);
  EXPECT_EQ(run.value("spikes"), 2);
  EXPECT_EQ(run.value("recovered_share"), 0.5);
  EXPECT_EQ(run.value("recovery_steps"), 2);
}

TEST(EventNumbers, TheLossAfterTheEventsIsOfUniformSteps) {
  std::vector<double> losses = flat();
  for (int t = kFirst; t < kSteps; ++t)
    losses[static_cast<std::size_t>(t)] = is_event_step(t, kFirst, kPeriod) ? 1e6 : 3;
  EXPECT_EQ(measured(losses).value("loss_after"), 3);
  losses.resize(20);  // diverged
  EXPECT_EQ(measured(losses).value("loss_after"), std::numeric_limits<double>::infinity());
}

TEST(EventNumbers, TheFitsMissIsRelativeToItsTarget) {
  EXPECT_NEAR(measured(flat(), {{"update_rms", 5e-4}}, {{"step_size", 5.5e-4}}).value("fit_miss"), 0.1, 1e-12);
  EXPECT_TRUE(std::isnan(measured(flat(), Json::object(), {{"step_size", 5.5e-4}}).value("fit_miss")));
}

TEST(EventNumbers, ARunWithoutTablesKeepsItsSummary) {
  RunSet runs{.name = "x", .title = "", .study = "pinn", .command = "", .parts = {}, .methods = {}, .groups = {}};
  runs.groups.push_back(make_group("table", "muon", Json::object(), Json::object(), 1, [](std::uint64_t) {
    return Json{{"final_rel_l2", 1}};
  }));
  EXPECT_EQ(with_event_numbers(runs).groups[0].runs[0].summary, (Json{{"final_rel_l2", 1}}));
}

TEST(SpikeRule, TheDocumentationAndTheRecipeStateIt) {
  const auto one_line = [](std::string text) {
    std::string words;
    for (const char c : text) {
      const bool space = c == ' ' || c == '\n' || c == '#';
      if (!space) words += c;
      else if (!words.empty() && words.back() != ' ') words += ' ';
    }
    return words;
  };
  for (const char* file : {"docs/lab-pinn.md", "recipes/pinn.toml"})
    EXPECT_NE(one_line(read_text(std::string(TRASMUON_SOURCE_DIR "/") + file)).find(spike_rule()), std::string::npos)
        << file << " must say: " << spike_rule();
}

}  // namespace
}  // namespace trasmuon::lab
