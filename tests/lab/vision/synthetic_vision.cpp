// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/synthetic_vision.h"

#include <cmath>
#include <utility>

namespace trasmuon::lab {

RunSet vision_runs(const VisionNumbers& n) {
  RunSet runs{.name = "vision-test",
              .title = "Vision",
              .study = "vision",
              .command = "trasmuon run vision",
              .parts = {"shared", "no-bursts", "controls", "sweep", "matched-rms"},
              .methods = {"adamw", "muon", "normuon", "trasmuon", "noclip"},
              .groups = {}};
  const auto add = [&](const std::string& part, const std::string& method, const Json& axes, double error) {
    Json settings = {{"data", n.data},
                     {"model", "vit-cifar"},
                     {"steps", 40},
                     {"batch", 128},
                     {"burst_period", part == "no-bursts" ? 0 : n.burst_period},
                     {"burst_start", 20},
                     {"burst_columns", 2},
                     {"burst_size", 100},
                     {"burst_relative", true},
                     {"damping", "columns"},
                     {"lr", 1e-3}};
    settings.update(axes);
    const double noise = method == "trasmuon" ? n.noise : 0;
    runs.groups.push_back(make_group(part, method, axes, settings, n.seeds, [=](std::uint64_t seed) -> Json {
      const double factor = jitter(seed) * (seed % 2 == 0 ? 1 + noise : 1 / (1 + noise));
      return {{"final_val_error", error * factor},
              {"final_loss", 3 * error * factor},
              {"final_val_loss", 3 * error},
              {"items_per_second", 1000},
              {"optimizer_share", 0.05},
              {"triggered_settled", 0.25},
              {"damped_settled", 0.125},
              {"r_max_settled", 7},
              {"c_mean", 0.9},
              {"lr", 1e-3 * axes.value("lr_scale", 1.0)}};
    }));
  };
  const Json none = Json::object();
  add("shared", "adamw", none, n.adamw);
  add("shared", "muon", none, n.muon);
  add("shared", "normuon", none, n.normuon);
  add("shared", "trasmuon", none, n.trasmuon);
  add("shared", "noclip", none, n.noclip);
  for (const char* method : {"adamw", "muon", "normuon", "trasmuon", "noclip"}) add("no-bursts", method, none, n.calm);
  add("controls", "trasmuon", {{"damping", "permuted"}}, n.permuted);
  add("controls", "trasmuon", {{"damping", "mean"}}, n.permuted);
  for (const auto& [method, error] : {std::pair{"adamw", n.adamw}, {"muon", n.muon}, {"trasmuon", n.matched}})
    add("matched-rms", method, none, error);
  for (const double scale : {0.3, 1.0, 3.0}) {
    add("sweep", "muon", {{"lr_scale", scale}}, scale == 3 ? 0.3 : n.muon);
    add("sweep", "trasmuon", {{"lr_scale", scale}}, scale == 1 ? n.trasmuon_at_best : 0.5);
  }
  return runs;
}

void write_vision_tables(RunSet& runs, const test::TemporaryDirectory& folder) {
  write_tables(runs, folder, [](const RunSpec& spec, RunLog& log) {
    MetricsTable& metrics = log.table("metrics", {"step", "loss", "r_max", "c_mean"});
    MetricsTable& eval = log.table("eval", {"step", "val_loss", "val_error"});
    for (int step = 0; step < 40; ++step) {
      const double decay = std::exp(-0.05 * step) * jitter(spec.seed);
      metrics.row({double(step), 4 * decay, step % 10 == 0 ? 30.0 : 4.0, 0.9});
      if (step % 10 == 0) eval.row({double(step), 3 * decay, 0.9 * decay});
    }
    MetricsTable& bursts = log.table("bursts", {"step", "size", "share", "r_max", "c_hit", "c_mean"});
    for (int step = 20; step < 40; step += 10) bursts.row({double(step), 1.0, 2.0, 30.0, 0.25, 0.875});
  });
}

}  // namespace trasmuon::lab
