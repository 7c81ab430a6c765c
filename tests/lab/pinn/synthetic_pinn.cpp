// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/synthetic_pinn.h"

#include <cmath>

namespace trasmuon::lab {

namespace {

SummaryOfSeed pinn_summary(double error, double peak, double noise, double step_size) {
  return [=](std::uint64_t seed) -> Json {
    const double factor = jitter(seed) * (seed % 2 == 0 ? 1 + noise : 1 / (1 + noise));
    return {{"spikes", 10 * peak * factor},
            {"spike_peak", peak * factor},
            {"final_rel_l2", error * factor},
            {"rel_l2_before_events", 0.01 * factor},
            {"loss_after", error * factor},
            {"step_size", step_size * jitter(seed)},
            {"loss_volatility_after", 0.2 * peak * factor},
            {"ms_per_step", 7.5},
            {"lr", 0.01}};
  };
}

/// Events at 40, 50, 60, 70; a spike at the first.
void write_pinn(RunLog& log, std::uint64_t seed) {
  MetricsTable& metrics = log.table("metrics", {"step", "loss", "event", "patch"});
  MetricsTable& eval = log.table("eval", {"step", "rel_l2"});
  MetricsTable& events =
      log.table("events", {"step", "patch", "roi_rel_l2", "outside_rel_l2", "baseline", "peak_step", "peak_ratio"});
  for (int step = 0; step < 80; ++step) {
    const bool event = step >= 40 && step % 10 == 0, peak = step == 42;
    const double baseline = std::exp(-0.05 * step) * jitter(seed);
    metrics.row({double(step), baseline * (event || peak ? 4 : 1), double(event), NAN});
    if (step % 20 == 0) eval.row({double(step), std::exp(-0.08 * step) * jitter(seed)});
    if (event)
      events.row({double(step), double(step / 10 % 12), 0.1 * jitter(seed), 0.01 * jitter(seed), baseline,
                  double(step + 2), step == 40 ? 4.0 : 1.0});
  }
}

}  // namespace

RunSet pinn_runs(const PinnNumbers& n) {
  RunSet runs{.name = "pinn-test",
              .title = "PINN",
              .study = "pinn",
              .command = "trasmuon run pinn",
              .parts = {"table", "no-events", "lr-sweep", "matched-rms", "adamw-search"},
              .methods = {"muon", "trasmuon", "noclip", "adamw"},
              .groups = {}};
  const auto add = [&](const std::string& part, const std::string& method, const Json& axes, double error, double peak,
                       std::size_t seeds, double lr = 0.01) {
    Json settings = {{"first_event", 40}, {"event_period", 10},
                     {"steps", 80},       {"events", part != "no-events"},
                     {"lr", lr},          {"update_rms", part == "matched-rms" ? 1e-3 : 0}};
    settings.update(axes);
    const double noise = method == "trasmuon" && part != "no-events" ? n.noise : 0;
    runs.groups.push_back(
        make_group(part, method, axes, settings, seeds, pinn_summary(error, peak, noise, n.step_size)));
  };
  const Json none = Json::object();
  for (const char* part : {"table", "matched-rms"}) {
    add(part, "muon", none, n.muon, n.muon_peak, n.seeds);
    add(part, "trasmuon", none, n.trasmuon, n.trasmuon_peak, n.seeds);
  }
  add("table", "noclip", none, n.muon, n.muon_peak, n.seeds);
  add("table", "adamw", none, 0.01, 9, n.seeds, n.adamw_lr);
  add("no-events", "muon", none, n.muon_calm, 1.2, n.seeds);
  add("no-events", "trasmuon", none, n.trasmuon_calm, 1.2, n.seeds);
  for (const double lr : {0.001, 0.01, 0.1}) {
    add("lr-sweep", "muon", {{"lr", lr}}, n.muon * (lr == 0.01 ? 1 : 5), n.muon_peak, n.seeds);
    add("lr-sweep", "trasmuon", {{"lr", lr}}, n.trasmuon * (lr == 0.01 ? 1 : 5), n.trasmuon_peak, n.seeds);
  }
  for (const double lr : {0.001, 0.01}) add("adamw-search", "adamw", {{"lr", lr}}, 1e-4 / lr, 9, 2);
  return runs;
}

void write_pinn_tables(RunSet& runs, const test::TemporaryDirectory& folder) {
  write_tables(runs, folder, [](const RunSpec& spec, RunLog& log) { write_pinn(log, spec.seed); });
}

}  // namespace trasmuon::lab
