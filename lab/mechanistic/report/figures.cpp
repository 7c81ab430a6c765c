// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/report/figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/report/figures/curves.h"
#include "lab/report/format.h"

namespace trasmuon::lab {

namespace {

const std::vector<std::string> kMainMethods = {"normuon", "muon", "noclip", "clip-sf", "history"};

std::size_t burst_period(const SeedGroup& group) {
  const Json period = setting_of(group, "burst_period");
  return period.is_number() ? period.get<std::size_t>() : 10;
}

/// Boxes of spikes above boxes of the late loss.
class SpreadPanels {
 public:
  void add(const SeedGroup* group, const std::string& label) {
    if (group == nullptr) return;
    for (const auto& [panel, key] : {std::pair{&spikes_, "spikes"}, {&loss_, "final_median"}}) {
      panel->boxes.push_back(seed_box(*group, key));
      panel->boxes.back().label = label;
    }
  }
  Figure figure(const std::string& name) const {
    return {
        .name = name, .panels = {spikes_, loss_}, .columns = spikes_.boxes.size() > 12 ? 1 : 2, .panel_height = 260};
  }

 private:
  Panel spikes_{.title = "spikes", .x_label = "", .y_label = "spikes in a run"};
  Panel loss_{.title = "late loss", .x_label = "", .y_label = "loss", .log_y = true};
};

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
  SpreadPanels panels;
  for (const std::string& method : groups.methods("table")) panels.add(groups.table(method), method_label(method));
  return {
      panels.figure("spread"),
      fmt::format("Spikes and late loss of every seed at κ = {}, {}. Box from quartile to quartile with the median, "
                  "whiskers to the extremes, a point for each seed. A box beyond the axis is named with its median.",
                  plain(groups.kappa()), bases_name(kKept))};
}

Illustration control_spread(const MechanisticGroups& groups, const std::string& method) {
  SpreadPanels panels;
  const auto controlled = [&](const char* control) { return groups.at("damping", method, {{"damping", control}}); };
  const auto phase = [&](const char* part, int value) { return groups.at(part, method, {{"burst_phase", value}}); };
  const auto decay = [&](const char* which, double end) { return groups.at("decay", which, {{"lr_end", end}}); };
  panels.add(groups.table("noclip"), "noclip");
  panels.add(groups.table(method), method);
  panels.add(controlled("blind"), "c without bursts");
  panels.add(phase("gate-2", 0), "gate 2, meets all");
  panels.add(phase("gate-2", 5), "gate 2, meets none");
  panels.add(phase("gate-10", 0), "gate 10, meets all");
  panels.add(phase("gate-10", 5), "gate 10, meets none");
  panels.add(controlled("permuted"), "c permuted");
  panels.add(controlled("mean"), "mean of c");
  if (const auto scale = groups.matching_scale("noclip", method))
    panels.add(groups.at("lr-sweep", "noclip", {{"lr_scale", *scale}}), "noclip, lr × " + plain(*scale));
  if (const auto scale = groups.best_scale("noclip"))
    panels.add(groups.at("lr-sweep", "noclip", {{"lr_scale", *scale}}), "noclip, lr × " + plain(*scale));
  if (const auto scale = groups.best_scale(method))
    panels.add(groups.at("lr-sweep", method, {{"lr_scale", *scale}}), method + ", lr × " + plain(*scale));
  for (const char* which : {"noclip", method.c_str()}) panels.add(decay(which, 0.1), std::string(which) + ", decay");
  return {
      panels.figure("controls-" + method),
      fmt::format("{} and its controls, every seed, with bursts: what is left when c does not see bursts, when gates "
                  "never meet one, when c is in other columns, and when only the step is smaller. decay: the "
                  "learning rate falls linearly to a tenth.",
                  method)};
}

Illustration around_a_burst(const MechanisticGroups& groups) {
  Panel median{
      .title = "median burst", .x_label = "steps from the burst", .y_label = "loss / loss before", .log_y = true};
  Panel worst = median;
  worst.title = "one burst in ten is worse";
  const auto add = [&](const SeedGroup* group, const std::string& label, const Style& style) {
    if (group == nullptr) return;
    const int period = static_cast<int>(burst_period(*group));
    for (const auto& [panel, p] : {std::pair{&median, 0.5}, {&worst, 0.9}}) {
      Line line = event_band(*group, "loss", std::max(1, period / 2), period - 1, p);
      line.label = label;
      line.style = style;
      line.points = true;
      panel->lines.push_back(std::move(line));
    }
  };
  for (const std::string method : {"muon", "noclip", "clip-sf", "history"})
    add(groups.table(method), method_label(method), method_style(method));
  add(groups.at("damping", "clip-sf", {{"damping", "blind"}}), "clip-sf, c without bursts", {"#CC79A7", 3, 6});
  for (Panel* panel : {&median, &worst}) panel->markers = {0};
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

Illustration response_by_phase(const ClosedLoop& loop) {
  Panel panel{.title = "how often it happens", .x_label = "steps after the burst", .y_label = "share of the steps"};
  const auto add = [&](const std::string& label, const Style& style, BySeed PhaseResponse::*share) {
    Line line{.label = label, .style = style, .x = {}, .y = {}};
    line.points = true;
    for (int offset = 0; offset < loop.period(); ++offset) {
      if ((loop.at(offset).*share).empty()) continue;
      const Spread spread = spread_of(values_of(loop.at(offset).*share));
      line.x.push_back(offset);
      line.y.push_back(spread.median);
      line.low.push_back(spread.low);
      line.high.push_back(spread.high);
    }
    panel.lines.push_back(std::move(line));
  };
  if (loop.known()) {
    add("r max rises", {"#0072B2", 1, 7}, &PhaseResponse::energy_rises);
    add("lowest c falls", {"#D55E00", 2, 5}, &PhaseResponse::lowest_falls);
    add("c of the column hit falls", {"#009E73", 4, 9}, &PhaseResponse::hit_falls);
  }
  panel.markers = {0};
  return {
      {.name = "response_by_phase", .panels = {panel}, .panel_height = 230},
      "The closed loop and its placebo (clip-sf): in what share of the steps, by the number of steps after the last "
      "burst, the energy ratio rises and c falls. Median and quartiles over the seeds. Only the difference between "
      "0 and the other steps can be an answer to bursts."};
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
  Panel loss{.title = "late loss", .x_label = label, .y_label = "loss", .log_x = true, .log_y = true};
  Panel spikes{.title = "spikes", .x_label = label, .y_label = "spikes in a run", .log_x = true};
  for (const std::string& method : groups.methods("lr-sweep")) {
    loss.lines.push_back(axis_band(groups.sweep(method), "lr_scale", "final_median"));
    spikes.lines.push_back(axis_band(groups.sweep(method), "lr_scale", "spikes"));
  }
  return {{.name = "learning_rate", .panels = {loss, spikes}, .columns = 2},
          "The same factors on every method's learning rate, with bursts: median and quartiles over the seeds."};
}

}  // namespace trasmuon::lab
