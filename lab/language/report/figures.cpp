// SPDX-License-Identifier: Apache-2.0
#include "lab/language/report/figures.h"

#include <algorithm>
#include <utility>

#include "lab/report/figures/curves.h"

namespace trasmuon::lab {
namespace {

/// Median, lowest and highest over the layers of each step of a wide table (a column per matrix), over all seeds.
Line layer_band(const SeedGroup& group, const std::string& table) {
  Line line{.label = method_label(group.method), .style = method_style(group.method), .x = {}, .y = {}};
  for (const RunRecord& run : group.runs) {
    const auto layers = read_table(run, table);
    if (!layers || layers->names.size() < 2) continue;
    const std::size_t every = std::max<std::size_t>(1, layers->values[0].size() / 350);
    for (std::size_t row = 0; row < layers->values[0].size(); row += every) {
      std::vector<double> values;
      for (std::size_t i = 1; i < layers->values.size(); ++i) values.push_back(layers->values[i][row]);
      line.x.push_back(layers->values[0][row]);
      line.y.push_back(quantile(values, 0.5));
      line.low.push_back(quantile(values, 0));
      line.high.push_back(quantile(values, 1));
    }
    break;  // one seed shows it: a median over seeds would hide bursts
  }
  return line;
}

}  // namespace

Illustration language_curves(const LanguageGroups& groups) {
  Figure figure{.name = "curves", .panels = {}, .columns = 2, .panel_height = 300};
  for (const bool warmup : {true, false}) {
    Panel loss{.title = warmup ? "with warm-up" : "without warm-up", .x_label = "step", .y_label = "training loss"};
    Panel val{.title = loss.title, .x_label = "step", .y_label = "validation loss"};
    for (const std::string& method : groups.methods("shared")) {
      const SeedGroup* group = groups.shared(method, warmup);
      if (group == nullptr || group->runs.empty()) continue;
      loss.lines.push_back(seed_band(*group, "metrics", "loss"));
      val.lines.push_back(seed_band(*group, "eval", "val_loss"));
      val.lines.back().points = true;
    }
    if (!loss.lines.empty()) figure.panels.insert(figure.panels.end(), {loss, val});
  }
  return {figure, "All methods at the shared learning rate: median and quartiles over the seeds."};
}

Illustration language_sweep(const LanguageGroups& groups) {
  Panel val{.title = "final validation loss", .x_label = "learning rate", .y_label = "nats per token", .log_x = true};
  Panel rms{
      .title = "update RMS", .x_label = "learning rate", .y_label = "RMS of an update", .log_x = true, .log_y = true};
  for (const std::string& method : groups.methods("sweep")) {
    for (const auto& [panel, key] : {std::pair{&val, kFinalLoss}, std::pair{&rms, "update_rms"}}) {
      Line line{.label = method_label(method), .style = method_style(method), .x = {}, .y = {}, .points = true};
      std::vector<const SeedGroup*> sweep = groups.sweep(method);
      std::erase_if(sweep, [](const SeedGroup* group) { return group->runs.empty(); });
      std::sort(sweep.begin(), sweep.end(), [](const SeedGroup* a, const SeedGroup* b) {
        return spread_of(a, "lr").median < spread_of(b, "lr").median;
      });
      for (const SeedGroup* group : sweep) {
        const Spread spread = spread_of(group, key);
        line.x.push_back(spread_of(group, "lr").median);
        line.y.push_back(spread.median);
        line.low.push_back(spread.low);
        line.high.push_back(spread.high);
      }
      if (!line.x.empty()) panel->lines.push_back(std::move(line));
    }
  }
  Figure figure{.name = "learning_rate", .panels = {}, .columns = 2};
  if (!val.lines.empty()) figure.panels = {val, rms};
  return {figure, "Every method at multiples of its own learning rate: median and quartiles over the seeds."};
}

Illustration language_ratios(const LanguageGroups& groups) {
  Figure figure{.name = "ratios", .panels = {}, .columns = 2};
  const SeedGroup* group = groups.shared("trasmuon", true);
  if (group == nullptr) group = best_of(groups.sweep("trasmuon"), kFinalLoss);
  if (group == nullptr) return {figure, ""};
  Panel ratio{.title = "largest ratio of a matrix", .x_label = "step", .y_label = "r = E / E_ref", .log_y = true};
  Panel damped{.title = "damped columns of a matrix", .x_label = "step", .y_label = "share"};
  ratio.lines.push_back(layer_band(*group, "ratio_max"));
  damped.lines.push_back(layer_band(*group, "damped_share"));
  const Json trigger = setting_of(*group, "trigger");
  if (trigger.is_number() && trigger > 0) ratio.band = HorizontalBand{trigger, trigger, trigger};
  if (!ratio.lines.front().x.empty()) figure.panels = {ratio, damped};
  return {figure,
          "Natural bursts in one run of TrasMuon: median over the matrices, band from the lowest to the highest; the "
          "horizontal line is the trigger."};
}

}  // namespace trasmuon::lab
