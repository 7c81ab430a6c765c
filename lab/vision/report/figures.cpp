// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/report/figures.h"

#include "lab/report/figures/curves.h"

namespace trasmuon::lab {
namespace {

constexpr std::size_t kPoints = 50;  // of a curve: the loss of single steps is too noisy to tell methods apart

struct Part {
  const char *name, *words;
};

std::vector<Part> parts_of(const VisionGroups& groups) {
  if (!groups.bursts()) return {{"shared", "no bursts"}};
  return {{"shared", "with bursts"}, {"no-bursts", "without bursts"}};
}

Panel curve_panel(const VisionGroups& groups, const Part& part, const std::string& table, const std::string& column) {
  Panel panel{.title = "", .x_label = "step", .y_label = "", .log_y = true};
  for (const std::string& method : groups.methods(part.name)) {
    Line line = seed_band(*groups.at(part.name, method), table, column, kPoints);
    line.points = table == "eval";
    if (!line.x.empty()) panel.lines.push_back(std::move(line));
  }
  return panel;
}

}  // namespace

Illustration vision_curves(const VisionGroups& groups) {
  Figure figure{.name = "curves", .panels = {}, .columns = 2, .panel_height = 300};
  for (const Part& part : parts_of(groups)) {
    Panel loss = curve_panel(groups, part, "metrics", "loss"), error = curve_panel(groups, part, "eval", "val_error");
    loss.title = std::string("training loss, ") + part.words, loss.y_label = "loss";
    error.title = std::string("test error, ") + part.words, error.y_label = "share of wrong answers";
    if (!loss.lines.empty() || !error.lines.empty()) figure.panels.insert(figure.panels.end(), {loss, error});
  }
  return {figure, "Training loss, in bins of steps, and test error: median and quartiles over the seeds."};
}

Illustration vision_accuracy(const VisionGroups& groups) {
  Figure figure{.name = "accuracy", .panels = {}, .columns = 2, .panel_height = 260};
  for (const Part& part : parts_of(groups)) {
    Panel panel{.title = std::string("final accuracy, ") + part.words, .x_label = "", .y_label = "top-1, percent"};
    for (const std::string& method : groups.methods(part.name)) {
      Box box = seed_box(*groups.at(part.name, method), kValError);
      for (double& value : box.values) value = 100 * (1 - value);
      if (!box.values.empty()) panel.boxes.push_back(std::move(box));
    }
    if (!panel.boxes.empty()) figure.panels.push_back(panel);
  }
  return {figure, "Final test accuracy: a point for each seed, box from quartile to quartile with the median."};
}

Illustration vision_sweep(const VisionGroups& groups) {
  Panel error{.title = "test error",
              .x_label = "factor on the shared learning rate",
              .y_label = "share of wrong answers",
              .log_x = true};
  for (const std::string& method : groups.methods("sweep"))
    error.lines.push_back(axis_band(groups.sweep(method), "lr_scale", kValError));
  Figure figure{.name = "learning_rate", .panels = {}};
  if (!error.lines.empty()) figure.panels.push_back(error);
  return {figure,
          "Learning rates of the hidden matrices: final test error, median and quartiles over the seeds. The "
          "other parameters keep theirs."};
}

Illustration vision_ratios(const VisionGroups& groups) {
  Figure figure{.name = "ratios", .panels = {}, .columns = 2, .panel_height = 260};
  Panel ratio{.title = "largest energy ratio r", .x_label = "step", .y_label = "r", .log_y = true};
  Panel damping{.title = "mean damping c", .x_label = "step", .y_label = "c"};
  for (const Part& part : parts_of(groups)) {
    const SeedGroup* group = groups.at(part.name, "trasmuon");
    if (group == nullptr) continue;
    for (const auto& [panel, column] : {std::pair{&ratio, "r_max"}, {&damping, "c_mean"}}) {
      Line line = seed_band(*group, "metrics", column);
      line.label = part.words;
      if (part.name != std::string("shared")) line.style = method_style("noclip");
      if (!line.x.empty()) panel->lines.push_back(std::move(line));
    }
  }
  if (!ratio.lines.empty()) figure.panels = {ratio, damping};
  return {figure,
          "TrasMuon at the shared learning rate: energy of the loudest column over the reference, and the mean damping "
          "of all columns; median and quartiles over the seeds and the steps of a bin."};
}

}  // namespace trasmuon::lab
