// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/report/curves.h"
#include "lab/report/format.h"

namespace trasmuon::lab {

namespace {

const std::vector<std::string> kMainMethods = {"normuon", "muon", "noclip", "clip-sf"};

std::size_t burst_period(const SeedGroup& group) {
  const Json period = setting_of(group, "burst_period");
  return period.is_number() ? period.get<std::size_t>() : 10;
}

/// Part of one run's column against its step.
Line slice(const Columns& metrics, const std::string& column, std::size_t begin, std::size_t end) {
  const auto part = [&](const std::vector<double>& values) {
    return std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(begin),
                               values.begin() + static_cast<std::ptrdiff_t>(end));
  };
  return {.label = column, .style = {}, .x = part(metrics["step"]), .y = part(metrics[column])};
}

}  // namespace

Illustration seed_spread(const MechanisticGroups& groups) {
  Panel spikes{.title = "spikes", .x_label = "", .y_label = "spikes in a run"};
  Panel loss{.title = "final loss", .x_label = "", .y_label = "loss", .log_y = true};
  std::vector<const SeedGroup*> shown;
  for (const std::string& method : groups.methods("table")) shown.push_back(groups.table(method));
  for (const SeedGroup* group : groups.part("uniform")) shown.push_back(group);
  for (const SeedGroup* group : shown) {
    if (group->runs.empty()) continue;
    const Json scale = setting_of(*group, "lr_scale");
    for (const auto& [panel, key] : {std::pair{&spikes, "spikes"}, {&loss, "final_loss"}}) {
      panel->boxes.push_back(seed_box(*group, key));
      if (scale.is_number() && scale != 1) panel->boxes.back().label += " × " + plain(scale);
    }
  }
  return {
      {.name = "spread", .panels = {spikes, loss}, .columns = 2, .panel_height = 300},
      fmt::format("Spikes and final loss of every seed at κ = {}, basis kept. Box from quartile to quartile with the "
                  "median, whiskers to the extremes, a point for each seed; × is a factor on the learning rate.",
                  plain(groups.kappa()))};
}

Illustration around_a_burst(const MechanisticGroups& groups) {
  Panel median{
      .title = "median burst", .x_label = "steps from the burst", .y_label = "loss / loss before", .log_y = true};
  Panel worst = median;
  worst.title = "one burst in ten is worse";
  for (const std::string method : {"normuon", "noclip", "uniform-c", "clip-sf"}) {
    const SeedGroup* group = groups.table(method);
    if (group == nullptr || group->runs.empty()) continue;
    const int period = static_cast<int>(burst_period(*group));
    median.lines.push_back(event_band(*group, "loss", std::max(1, period / 2), period - 1, 0.5));
    worst.lines.push_back(event_band(*group, "loss", std::max(1, period / 2), period - 1, 0.9));
  }
  for (Panel* panel : {&median, &worst}) {
    panel->markers = {0};
    for (Line& line : panel->lines) line.points = true;
  }
  return {
      {.name = "around_a_burst", .panels = {median, worst}, .columns = 2},
      "Loss around a burst, over the loss one step before it. Left the median of each seed's bursts, right their 90 % "
      "quantile; lines and bands are median and quartiles over the seeds. The burst acts on the step marked 0."};
}

Illustration closed_loop_window(const MechanisticGroups& groups) {
  Illustration illustration{
      {.name = "closed_loop", .panels = {}, .panel_height = 180},
      "The closed loop in one run of clip-sf (first seed, middle of the run); vertical lines mark bursts. Above: "
      "largest and 95 % quantile of the columns' energy over its reference. Below: the damping that the update used."};
  const SeedGroup* group = groups.table("clip-sf");
  const auto metrics =
      group == nullptr || group->runs.empty() ? std::nullopt : read_table(group->runs.front(), "metrics");
  if (!metrics) return illustration;
  const std::vector<double>& step = (*metrics)["step"];
  const std::size_t window = 6 * burst_period(*group), middle = step.size() / 2;
  const std::size_t begin = middle > window / 2 ? middle - window / 2 : 0, end = std::min(begin + window, step.size());
  const auto line = [&](const std::string& column, const std::string& label, Style style) {
    Line part = slice(*metrics, column, begin, end);
    part.label = label;
    part.style = std::move(style);
    return part;
  };
  Panel energy{.title = "relative column energy", .x_label = "step", .y_label = "r", .log_y = true};
  energy.lines = {line("r_max", "r max", {"#0072B2", 1, 7}), line("r_q95", "r 95 %", {"#56B4E9", 2, 7})};
  Panel damping{.title = "damping applied", .x_label = "step", .y_label = "c"};
  damping.lines = {line("c_used_min", "lowest c", {"#D55E00", 1, 7}),
                   line("c_hit", "c of column hit", {"#009E73", 4, 7}), line("c_mean", "mean c", {"#4D4D4D", 3, 7})};
  for (const std::size_t row : event_rows(*metrics))
    if (row >= begin && row < end) energy.markers.push_back(step[row]);
  damping.markers = energy.markers;
  illustration.figure.panels = {energy, damping};
  return illustration;
}

Illustration loss_curves(const MechanisticGroups& groups) {
  Illustration illustration{{.name = "loss_curves", .panels = {}, .columns = 2, .panel_height = 300},
                            "Loss with and without bursts: median and quartiles over the seeds."};
  for (const auto& [part, title] : {std::pair{"table", "with bursts"}, {"no-bursts", "without bursts"}}) {
    Panel panel{.title = title, .x_label = "step", .y_label = "loss", .log_y = true};
    for (const std::string& method : kMainMethods)
      if (const SeedGroup* group = groups.at(part, method)) panel.lines.push_back(seed_band(*group, "metrics", "loss"));
    std::erase_if(panel.lines, [](const Line& line) { return line.x.empty(); });
    if (!panel.lines.empty()) illustration.figure.panels.push_back(panel);
  }
  return illustration;
}

Illustration learning_rate_sweep(const MechanisticGroups& groups) {
  const std::string label = "factor on the learning rate";
  Panel loss{.title = "final loss", .x_label = label, .y_label = "loss", .log_x = true, .log_y = true};
  Panel spikes{.title = "spikes", .x_label = label, .y_label = "spikes in a run", .log_x = true};
  for (const std::string& method : groups.methods("lr-sweep")) {
    loss.lines.push_back(axis_band(groups.sweep(method), "lr_scale", "final_loss"));
    spikes.lines.push_back(axis_band(groups.sweep(method), "lr_scale", "spikes"));
  }
  return {{.name = "learning_rate", .panels = {loss, spikes}, .columns = 2},
          "The same factors on every method's learning rate, with bursts: median and quartiles over the seeds."};
}

Illustration stiffness(const MechanisticGroups& groups) {
  Illustration illustration{{.name = "stiffness", .panels = {}, .columns = 2, .panel_height = 230},
                            "Spikes and final loss against the condition number: median and quartiles over the seeds. "
                            "The loss itself grows with κ, so compare methods at the same κ."};
  for (const bool fix_v : {true, false}) {
    const std::string basis = fix_v ? ", basis kept" : ", basis mixed", label = "condition number κ";
    Panel spikes{.title = "spikes" + basis, .x_label = label, .y_label = "spikes in a run", .log_x = true};
    Panel loss{.title = "final loss" + basis, .x_label = label, .y_label = "loss", .log_x = true, .log_y = true};
    for (const std::string& method : kMainMethods) {
      const auto along = groups.along_kappa(method, fix_v);
      if (along.empty()) continue;
      spikes.lines.push_back(axis_band(along, "kappa", "spikes"));
      loss.lines.push_back(axis_band(along, "kappa", "final_loss"));
    }
    if (!spikes.lines.empty()) illustration.figure.panels.insert(illustration.figure.panels.end(), {spikes, loss});
  }
  return illustration;
}

}  // namespace trasmuon::lab
