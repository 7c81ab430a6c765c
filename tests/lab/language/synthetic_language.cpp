// SPDX-License-Identifier: Apache-2.0
#include "lab/language/synthetic_language.h"

#include <cmath>

#include "lab/language/settings.h"

namespace trasmuon::lab {
namespace {

SummaryOfSeed summary(double steps, double loss, double lr = 3.6e-3, bool reaches = true) {
  return [=](std::uint64_t seed) -> Json {
    // Losses vary by hundredths: their exponentials are compared.
    const double noise = (jitter(seed) - 1) * (seed % 2 == 0 ? 0.1 : -0.1);
    return {{"final_loss", loss + noise},
            {"final_val_loss", loss + noise},
            {"steps_to_target", reaches ? Json(std::round(steps * (1 + noise))) : Json(nullptr)},
            {"update_rms", 7e-4},
            {"spikes", 0},
            {"triggered_settled", 0.4},
            {"damped_settled", 0.02},
            {"r_max_settled", 5.5},
            {"items_per_second", 1000},
            {"optimizer_share", 0.1},
            {"lr", lr}};
  };
}

Json settings_with(const Json& axes) {
  Json settings = settings_to_json(LanguageSettings{});
  settings["data"] = "wiki";
  for (const auto& [key, value] : axes.items())
    if (settings.contains(key)) settings[key] = value;
  return settings;
}

}  // namespace

RunSet language_runs(const LanguageNumbers& n) {
  RunSet runs{.name = "x", .title = "t", .study = "language", .command = "", .parts = {}, .methods = {}, .groups = {}};
  runs.parts = {"shared", "sweep", "nesterov-sweep", "controls", "iteration"};
  runs.methods = {"adamw", "muon", "trasmuon"};
  const auto add = [&](const char* part, const char* method, const Json& axes, const SummaryOfSeed& of_seed) {
    runs.groups.push_back(make_group(part, method, axes, settings_with(axes), n.seeds, of_seed));
  };
  for (const double warmup : {0.1, 0.0}) {
    const Json axes = {{"warmup_share", warmup}};
    const double factor = warmup > 0 ? 1 : 0.6;
    add("shared", "adamw", axes, summary(factor * n.adamw_steps, 3.5, 3.6e-3, n.adamw_reaches));
    add("shared", "muon", axes, summary(factor * n.muon_steps, n.muon));
    add("shared", "trasmuon", axes, summary(factor * n.trasmuon_steps, n.trasmuon));
  }
  for (const double scale : {1.0, 2.0, 4.0}) {
    const double worse = scale == 2 ? 0 : 0.3;
    add("sweep", "muon", {{"lr_scale", scale}}, summary(100, n.muon_tuned + worse, 3.6e-3 * scale));
    add("sweep", "trasmuon", {{"lr_scale", scale}}, summary(100, n.trasmuon_tuned + worse, 3.6e-3 * scale));
    add("nesterov-sweep", "muon", {{"lr_scale", scale}}, summary(100, n.muon_tuned + worse, 3.6e-3 * scale));
    add("nesterov-sweep", "trasmuon", {{"lr_scale", scale}}, summary(100, n.trasmuon_nesterov + worse, 3.6e-3 * scale));
  }
  for (const char* damping : {"columns", "permuted", "mean"})
    add("controls", "trasmuon", {{"damping", damping}}, summary(80, n.trasmuon));
  add("iteration", "trasmuon", {{"ns_steps", 4}, {"coefficients", "minimax4"}}, summary(80, n.four_steps));
  add("iteration", "trasmuon", {{"ns_steps", 5}, {"coefficients", "keller"}}, summary(80, n.five_steps));
  return runs;
}

void write_language_tables(RunSet& runs, const test::TemporaryDirectory& folder) {
  write_tables(runs, folder, [](const RunSpec& spec, RunLog& log) {
    for (int step = 0; step < 40; ++step) {
      log.table("metrics", {"step", "loss"}).row({double(step), 6 * std::exp(-0.02 * step) * jitter(spec.seed)});
      if (step % 20 == 0) log.table("eval", {"step", "val_loss"}).row({double(step), 6 - 0.05 * step});
      log.table("ratio_max", {"step", "a", "b"}).row({double(step), 1.5, 3});
      log.table("damped_share", {"step", "a", "b"}).row({double(step), 0, 0.1});
    }
  });
}

}  // namespace trasmuon::lab
