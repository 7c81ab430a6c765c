// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/synthetic_pinn.h"

#include <cmath>

namespace trasmuon::lab {

namespace {

SummaryOfSeed pinn_summary(double error, double peak) {
  return [=](std::uint64_t seed) -> Json {
    return {{"spikes", 10 * peak * jitter(seed)},
            {"spike_peak", peak * jitter(seed)},
            {"recovery_steps", 5},
            {"valid_event_rate", 0.9},
            {"final_rel_l2", error * jitter(seed)},
            {"rel_l2_before_events", 0.01 * jitter(seed)},
            {"step_size", 1e-3 * jitter(seed)},
            {"loss_volatility_after", 0.2 * peak * jitter(seed)},
            {"ms_per_step", 7.5},
            {"lr", 0.01}};
  };
}

void write_pinn(RunLog& log, std::uint64_t seed) {
  MetricsTable& metrics = log.table("metrics", {"step", "loss", "event", "patch"});
  MetricsTable& eval = log.table("eval", {"step", "rel_l2"});
  MetricsTable& events = log.table("events", {"step", "patch", "roi_rel_l2", "outside_rel_l2"});
  for (int step = 0; step < 80; ++step) {
    const bool event = step >= 40 && step % 10 == 0;
    metrics.row({double(step), std::exp(-0.05 * step) * jitter(seed) * (event ? 4 : 1), double(event), NAN});
    if (step % 20 == 0) eval.row({double(step), std::exp(-0.08 * step) * jitter(seed)});
    if (event) events.row({double(step), double(step / 10 % 12), 0.1 * jitter(seed), 0.01 * jitter(seed)});
  }
}

}  // namespace

RunSet pinn_runs(const PinnNumbers& n) {
  RunSet runs{.name = "pinn-test",
              .title = "PINN",
              .study = "pinn",
              .command = "trasmuon run pinn",
              .machine = {{"cpu", "A CPU"}},
              .parts = {"table", "no-events", "lr-sweep", "matched-rms"},
              .methods = {"muon", "trasmuon", "noclip"},
              .groups = {}};
  const auto add = [&](const std::string& part, const std::string& method, Json axes, double error, double peak) {
    Json settings = {{"first_event", 40}, {"lr_scale", 1}, {"update_rms", part == "matched-rms" ? 1e-3 : 0}};
    settings.update(axes);
    runs.groups.push_back(make_group(part, method, axes, settings, n.seeds, pinn_summary(error, peak)));
  };
  for (const char* part : {"table", "matched-rms"}) {
    add(part, "muon", Json::object(), n.muon, n.muon_peak);
    add(part, "trasmuon", Json::object(), n.trasmuon, n.trasmuon_peak);
  }
  add("table", "noclip", Json::object(), n.muon, n.muon_peak);
  add("no-events", "muon", Json::object(), n.muon_calm, 1.2);
  add("no-events", "trasmuon", Json::object(), n.trasmuon_calm, 1.2);
  for (const double lr : {0.001, 0.01, 0.1}) {
    add("lr-sweep", "muon", {{"lr", lr}}, n.muon * (lr == 0.01 ? 1 : 5), n.muon_peak);
    add("lr-sweep", "trasmuon", {{"lr", lr}}, n.trasmuon * (lr == 0.01 ? 1 : 5), n.trasmuon_peak);
  }
  return runs;
}

void write_pinn_tables(RunSet& runs, const test::TemporaryDirectory& folder) {
  write_tables(runs, folder, [](const RunSpec& spec, RunLog& log) { write_pinn(log, spec.seed); });
}

}  // namespace trasmuon::lab
