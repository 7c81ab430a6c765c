// SPDX-License-Identifier: Apache-2.0
#include "lab/report/synthetic.h"

#include <cmath>

#include "lab/records/run_log.h"

namespace trasmuon::lab {

namespace {

double jitter(std::uint64_t seed) { return 1 + static_cast<double>(seed) / 100; }

Options options_of(const std::string& method) {
  if (method == "muon" || method == "normuon" || method == "adamw") return options_for(method);
  return TrasMuonOptions{.warmup = 15};
}

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

void write_mechanistic(RunLog& log, const Json& settings, std::uint64_t seed) {
  MetricsTable& table =
      log.table("metrics", {"step", "loss", "event", "r_q95", "r_max", "c_used_min", "c_hit", "c_mean", "update_rms"});
  for (int step = 0; step <= 60; ++step) {
    const bool event = settings.value("bursts", true) && step > 0 && step % 10 == 0;
    const double loss = (1e9 * std::exp(-0.1 * step) + 1e6) * jitter(seed) * (event ? 2 : 1);
    table.row({double(step), loss, double(event), 2, event ? 1e6 : 3, event ? 0.2 : 0.5, event ? 0.6 : 1, 0.9, 8e-3});
  }
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

Cell make_cell(const std::string& part, const std::string& method, const Json& axes, const Json& settings,
               std::size_t seeds, const SummaryOfSeed& summary) {
  Cell cell{.part = part, .method = method, .axes = axes, .runs = {}, .planned = seeds};
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    RunRecord run;
    run.spec = {.study = "", .method = method, .options = options_of(method), .settings = settings, .seed = seed};
    run.summary = summary(seed);
    run.folder = "no-such-folder/" + part + axes.dump() + run_id(run.spec);  // no two cells share a run
    cell.runs.push_back(run);
  }
  return cell;
}

RunSet mechanistic_runs(const MechanisticNumbers& n) {
  RunSet runs{.name = "mechanistic-test",
              .title = "Bursts & columns <test>",
              .study = "mechanistic",
              .command = "trasmuon run mechanistic --set steps=60",
              .machine = {{"cpu", "A \"CPU\""}, {"threads", 2}},
              .parts = {"table", "no-bursts", "uniform", "lr-sweep"},
              .methods = {"normuon", "noclip", "clip-only", "clip-sf", "uniform-c"},
              .cells = {}};
  const auto add = [&](const std::string& part, const std::string& method, Json axes, Json settings, double spikes,
                       double loss) {
    Json all = {{"kappa", 1e4},       {"fix_v", true},        {"bursts", true},    {"lr_scale", 1},
                {"uniform_c", false}, {"isotropic_b", false}, {"burst_period", 10}};
    all.update(settings);
    all.update(axes);
    runs.cells.push_back(make_cell(part, method, axes, all, n.seeds, mechanistic_summary(spikes, loss)));
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

RunSet pinn_runs(const PinnNumbers& n) {
  RunSet runs{.name = "pinn-test",
              .title = "PINN",
              .study = "pinn",
              .command = "trasmuon run pinn",
              .machine = {{"cpu", "A CPU"}},
              .parts = {"table", "no-events", "lr-sweep", "matched-rms"},
              .methods = {"muon", "trasmuon", "noclip"},
              .cells = {}};
  const auto add = [&](const std::string& part, const std::string& method, Json axes, double error, double peak) {
    Json settings = {{"first_event", 40}, {"lr_scale", 1}, {"update_rms", part == "matched-rms" ? 1e-3 : 0}};
    settings.update(axes);
    runs.cells.push_back(make_cell(part, method, axes, settings, n.seeds, pinn_summary(error, peak)));
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

void write_tables(RunSet& runs, const test::TemporaryDirectory& folder) {
  int number = 0;
  for (Cell& cell : runs.cells) {
    for (RunRecord& run : cell.runs) {
      run.folder = folder / std::to_string(number++);
      std::filesystem::create_directories(run.folder);
      RunLog log(run.folder);
      if (runs.study == "pinn") write_pinn(log, run.spec.seed);
      else write_mechanistic(log, run.spec.settings, run.spec.seed);
    }
  }
}

}  // namespace trasmuon::lab
