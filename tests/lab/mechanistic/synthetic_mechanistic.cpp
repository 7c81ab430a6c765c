// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/synthetic_mechanistic.h"

#include <cmath>

namespace trasmuon::lab {

namespace {

SummaryOfSeed mechanistic_summary(double spikes, double loss) {
  return [=](std::uint64_t seed) -> Json {
    return {{"spikes", std::round(spikes * jitter(seed))},
            {"final_loss", loss * jitter(seed)},
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
  RunSet runs{.name = "mechanistic-test",
              .title = "Bursts & columns <test>",
              .study = "mechanistic",
              .command = "trasmuon run mechanistic --set steps=60",
              .machine = {{"cpu", "A \"CPU\""}, {"threads", 2}},
              .parts = {"table", "no-bursts", "uniform", "lr-sweep"},
              .methods = {"normuon", "noclip", "clip-only", "clip-sf", "uniform-c"},
              .groups = {}};
  const auto add = [&](const std::string& part, const std::string& method, Json axes, Json settings, double spikes,
                       double loss) {
    Json all = {{"kappa", 1e4},       {"fix_v", true},        {"bursts", true},    {"lr_scale", 1},
                {"uniform_c", false}, {"isotropic_b", false}, {"burst_period", 10}};
    all.update(settings);
    all.update(axes);
    runs.groups.push_back(make_group(part, method, axes, all, n.seeds, mechanistic_summary(spikes, loss)));
  };
  for (const double kappa : {1e4, 1e2}) {
    for (const bool fix_v : {true, false}) {
      const Json axes = {{"kappa", kappa}, {"fix_v", fix_v}};
      const double noclip = fix_v ? n.noclip : n.noclip_mixed, damped = fix_v ? n.damped : n.damped_mixed;
      add("table", "normuon", axes, Json::object(), fix_v ? n.spikes_noclip : 79, noclip);
      add("table", "noclip", axes, Json::object(), fix_v ? n.spikes_noclip : 80, noclip);
      add("table", "clip-only", axes, Json::object(), fix_v ? n.spikes_damped : 75, damped);
      add("table", "clip-sf", axes, Json::object(), fix_v ? n.spikes_damped : 75, damped);
    }
  }
  add("no-bursts", "noclip", Json::object(), {{"bursts", false}}, 3, n.noclip_calm);
  add("no-bursts", "clip-sf", Json::object(), {{"bursts", false}}, 1, n.damped_calm);
  add("uniform", "uniform-c", Json::object(), {{"uniform_c", true}}, n.spikes_noclip, n.uniform);
  for (const double scale : {0.5, 1.0, 2.0}) {
    const Json axes = {{"lr_scale", scale}};
    add("lr-sweep", "noclip", axes, Json::object(), n.spikes_noclip * scale,
        scale == 0.5 ? n.tuned_noclip : n.noclip * scale);
    add("lr-sweep", "clip-sf", axes, Json::object(), n.spikes_damped * scale,
        scale == 0.5 ? n.tuned_damped : n.damped * scale);
  }
  return runs;
}

void write_mechanistic_tables(RunSet& runs, const test::TemporaryDirectory& folder) {
  write_tables(runs, folder,
               [](const RunSpec& spec, RunLog& log) { write_mechanistic(log, spec.settings, spec.seed); });
}

}  // namespace trasmuon::lab
