// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/report/figures.h"

#include <cmath>
#include <optional>

#include "lab/report/figures/curves.h"

namespace trasmuon::lab {

namespace {

constexpr double kTargetTolerance = 0.2;  // of the band around the target step size

Panel curve_panel(const PinnGroups& groups, const std::string& part, const std::string& table,
                  const std::string& column) {
  Panel panel{.title = "", .x_label = "step", .y_label = "", .log_y = true};
  for (const std::string& method : groups.methods(part)) {
    Line line = seed_band(*groups.at(part, method), table, column);
    line.points = table == "eval";
    if (!line.x.empty()) panel.lines.push_back(std::move(line));
  }
  if (part != "no-events" && std::isfinite(groups.first_event())) panel.markers = {groups.first_event()};
  return panel;
}

/// Of each seed the median over events of an error, in regions of one kind (4 corners, 4 edges, 4 interior patches).
std::vector<double> event_errors(const SeedGroup& group, const std::string& column, std::optional<int> kind) {
  std::vector<double> medians;
  for (const RunRecord& run : group.runs) {
    const auto events = read_table(run, "events");
    if (!events) continue;
    const std::vector<double>&patch = (*events)["patch"], &error = (*events)[column];
    std::vector<double> errors;
    for (std::size_t row = 0; row < patch.size(); ++row)
      if (!kind || static_cast<int>(patch[row]) / 4 == *kind) errors.push_back(error[row]);
    if (!errors.empty()) medians.push_back(quantile(errors, 0.5));
  }
  return medians;
}

}  // namespace

Illustration pinn_curves(const PinnGroups& groups) {
  Figure figure{.name = "curves", .panels = {}, .columns = 2, .panel_height = 300};
  for (const auto& [part, events] : {std::pair{"table", "with events"}, {"no-events", "without events"}}) {
    Panel loss = curve_panel(groups, part, "metrics", "loss"), error = curve_panel(groups, part, "eval", "rel_l2");
    loss.title = std::string("training loss, ") + events, loss.y_label = "loss";
    error.title = std::string("error on the grid, ") + events, error.y_label = "relative L2 error";
    if (!loss.lines.empty() || !error.lines.empty()) figure.panels.insert(figure.panels.end(), {loss, error});
  }
  return {figure,
          "Training loss (on the points of the step, so it jumps at events) and relative L2 error on a fixed grid: "
          "median and quartiles over the seeds, the loss in bins of steps. The vertical line marks the first event."};
}

Illustration pinn_spread(const PinnGroups& groups) {
  struct Metric {
    const char *key, *title, *unit;
    bool log;
  };
  Figure figure{.name = "spread", .panels = {}, .columns = 3, .panel_height = 220};
  for (const Metric& metric : {Metric{"spikes", "spike count", "spikes in a run", false},
                               {"spike_peak", "spike peak", "loss / baseline", true},
                               {"recovery_steps", "recovery", "steps", false},
                               {"recovered_share", "recovered spikes", "share of spikes", false},
                               {"final_rel_l2", "final error", "relative L2 error", true}}) {
    Panel panel{.title = metric.title, .x_label = "", .y_label = metric.unit, .log_y = metric.log};
    for (const std::string& method : groups.methods("table"))
      if (!groups.table(method)->runs.empty()) panel.boxes.push_back(seed_box(*groups.table(method), metric.key));
    if (!panel.boxes.empty()) figure.panels.push_back(panel);
  }
  return {figure,
          "The metrics of every seed, with events. Box from quartile to quartile with the median, whiskers to the "
          "extremes, a point for each seed."};
}

Illustration pinn_step_sizes(const PinnGroups& groups) {
  Figure figure{.name = "step_size", .panels = {}, .columns = 2, .panel_height = 220};
  for (const auto& [part, title] :
       {std::pair{"table", "learning rates of the table"}, {"matched-rms", "matched step sizes"}}) {
    Panel panel{.title = title, .x_label = "", .y_label = "step size s", .log_y = true};
    double target = 0;
    for (const std::string& method : groups.methods(part)) {
      const SeedGroup* group = groups.at(part, method);
      if (group->runs.empty()) continue;
      panel.boxes.push_back(seed_box(*group, "step_size"));
      const Json wanted = setting_of(*group, "update_rms");
      if (wanted.is_number()) target = wanted;
    }
    if (target > 0)
      panel.band = HorizontalBand{target / (1 + kTargetTolerance), target, target * (1 + kTargetTolerance)};
    if (!panel.boxes.empty()) figure.panels.push_back(panel);
  }
  return {figure, "Step size s = ‖Δθ‖ / √P before the events, mean of each seed. The band is the target ± 20 %."};
}

Illustration pinn_sweep(const PinnGroups& groups) {
  const std::string axis = "lr", label = "learning rate";
  Panel error{.title = "final error", .x_label = label, .y_label = "relative L2 error", .log_x = true, .log_y = true};
  Panel peak{.title = "highest peak", .x_label = label, .y_label = "loss / baseline", .log_x = true, .log_y = true};
  for (const std::string& method : groups.methods("lr-sweep")) {
    error.lines.push_back(axis_band(groups.sweep(method), axis, "final_rel_l2"));
    peak.lines.push_back(axis_band(groups.sweep(method), axis, "spike_peak"));
  }
  return {{.name = "learning_rate", .panels = {error, peak}, .columns = 2},
          "A shared learning-rate sweep, with events: median and quartiles over the seeds (fewer than in the table)."};
}

Illustration pinn_regions(const PinnGroups& groups) {
  struct Place {
    const char *title, *column;
    std::optional<int> kind;
  };
  Figure figure{.name = "regions", .panels = {}, .columns = 2, .panel_height = 190};
  for (const Place& place : {Place{"inside corners", "roi_rel_l2", 0},
                             {"inside edges", "roi_rel_l2", 1},
                             {"inside interior regions", "roi_rel_l2", 2},
                             {"outside the region", "outside_rel_l2", std::nullopt}}) {
    Panel panel{.title = place.title, .x_label = "", .y_label = "relative L2 error", .log_y = true};
    for (const std::string& method : groups.methods("table")) {
      Box box{method_label(method), method_style(method),
              event_errors(*groups.table(method), place.column, place.kind)};
      if (!box.values.empty()) panel.boxes.push_back(std::move(box));
    }
    if (!panel.boxes.empty()) figure.panels.push_back(panel);
  }
  return {figure,
          "Relative error at events, inside the region of interest by its kind, and outside: median over the events, a "
          "point for each seed. In the corners the solution is nearly zero, which makes a relative error large."};
}

}  // namespace trasmuon::lab
