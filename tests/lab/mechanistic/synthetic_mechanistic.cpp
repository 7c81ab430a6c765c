// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/synthetic_mechanistic.h"

#include <algorithm>
#include <cmath>

namespace trasmuon::lab {

namespace {

SummaryOfSeed mechanistic_summary(const SyntheticRow& row) {
  return [=](std::uint64_t seed) -> Json {
    return {{"spikes", std::round(row.spikes * jitter(seed % 100))},
            {"final_loss", row.loss * jitter(seed % 100)},
            {"final_median", row.loss * jitter(seed % 100)},
            {"spike_peak", 3 * jitter(seed)},
            {"mean_c", 0.85},
            {"update_rms", 8e-3},
            {"bound_violations", 0},
            {"c_violations", 0}};
  };
}

void write_mechanistic(RunLog& log, const Json& settings, std::uint64_t seed) {
  MetricsTable& table =
      log.table("metrics", {"step", "loss", "event", "r_q95", "r_max", "c_used_min", "c_hit", "c_mean", "update_rms"});
  for (int step = 0; step <= 60; ++step) {
    const bool event = settings.value("bursts", true) && step > 0 && step % 10 == 0;
    const double loss = (1e9 * std::exp(-0.1 * step) + 1e6) * jitter(seed) * (event ? 2 : 1);
    table.row({double(step), loss, double(event), 2, event ? 1e6 : 3, event ? 0.2 : 0.5, event ? 0.6 : 1, 0.9, 8e-3});
  }
}

}  // namespace

RunSet mechanistic_runs(const MechanisticNumbers& n) {
  RunSet runs{
      .name = "mechanistic-test",
      .title = "Bursts & columns <test>",
      .study = "mechanistic",
      .command = "trasmuon run mechanistic --set steps=60",
      .parts = {"table", "no-bursts", "damping", "gate-2", "gate-10", "lr-sweep", "tuning", "decay", "newton-schulz"},
      .methods = {"normuon", "noclip", "clip-only", "clip-sf"},
      .groups = {}};
  const auto add = [&](const std::string& part, const std::string& method, const Json& axes, const SyntheticRow& row,
                       const Json& settings = Json::object()) {
    Json all = {{"kappa", 1e4},         {"b_basis", "identity"}, {"burst_basis", "columns"}, {"bursts", true},
                {"burst_period", 10},   {"burst_phase", 0},      {"damping", "columns"},     {"lr_scale", 1.0},
                {"isotropic_b", false}, {"lr_end", 1.0}};
    all.update(settings);
    all.update(axes);
    runs.groups.push_back(make_group(part, method, axes, all, n.seeds, mechanistic_summary(row)));
  };
  for (const bool identity : {true, false}) {
    for (const bool columns : {true, false}) {
      const Json axes = {{"b_basis", identity ? "identity" : "random"}, {"burst_basis", columns ? "columns" : "mixed"}};
      const SyntheticRow& noclip = !columns ? n.noclip_mixed : identity ? n.noclip : n.noclip_random;
      const SyntheticRow& damped = !columns ? n.damped_mixed : identity ? n.damped : n.damped_random;
      for (const char* method : {"normuon", "noclip"}) add("table", method, axes, noclip);
      for (const char* method : {"clip-only", "clip-sf"}) add("table", method, axes, damped);
    }
  }
  add("no-bursts", "noclip", Json::object(), n.noclip_calm, {{"bursts", false}});
  add("no-bursts", "clip-sf", Json::object(), n.damped_calm, {{"bursts", false}});
  add("damping", "clip-sf", {{"damping", "mean"}}, n.mean);
  add("damping", "clip-sf", {{"damping", "permuted"}}, n.permuted);
  add("damping", "clip-sf", {{"damping", "blind"}}, n.blind);
  for (const int phase : {0, 5})
    add("gate-2", "clip-sf", {{"burst_phase", phase}}, phase == 0 ? n.gate_meets : n.gate_meets_none);
  for (const int phase : {0, 1, 3, 5, 7, 9})
    add("gate-10", "clip-sf", {{"burst_phase", phase}}, phase == 0 ? n.gate_meets : n.gate_meets_none);
  const auto scaled = [](const SyntheticRow& row, double scale) {
    return SyntheticRow{row.spikes * scale, row.loss * scale};
  };
  for (const std::string part : {"lr-sweep", "tuning"}) {
    for (const double scale : {0.25, 0.5, 1.0, 2.0}) {
      const Json axes = {{"lr_scale", scale}};
      add(part, "noclip", axes, scale == 0.5 ? n.tuned_noclip : scaled(n.noclip, scale < 0.5 ? 4 : scale));
      add(part, "clip-sf", axes, scale == 0.5 ? n.tuned_damped : scaled(n.damped, scale < 0.5 ? 4 : scale));
    }
  }
  for (SeedGroup& group : runs.groups) {
    if (group.part != "tuning") continue;
    group.planned = n.tuning_seeds.size();
    group.runs.resize(std::min(group.runs.size(), n.tuning_seeds.size()));
    for (std::size_t i = 0; i < group.runs.size(); ++i) group.runs[i].spec.seed = n.tuning_seeds[i];
  }
  add("decay", "noclip", {{"lr_end", 0.1}}, n.decayed_noclip);
  add("decay", "clip-sf", {{"lr_end", 0.1}}, n.decayed_damped);
  const Json eight = {{"coefficients", "keller"}, {"ns_steps", 8}};
  add("newton-schulz", "noclip", eight, n.noclip_8_steps);
  add("newton-schulz", "clip-sf", eight, n.damped_8_steps);
  return runs;
}

void write_mechanistic_tables(RunSet& runs, const test::TemporaryDirectory& folder) {
  write_tables(runs, folder,
               [](const RunSpec& spec, RunLog& log) { write_mechanistic(log, spec.settings, spec.seed); });
}

}  // namespace trasmuon::lab
