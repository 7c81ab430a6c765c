// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/short_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trasmuon::lab {
namespace {

// What studies call their main numbers; those that a study does not have are left out.
constexpr const char* kNumbers[] = {"spikes", "final_loss", "final_rel_l2", "mean_c"};

double median(std::vector<double> values) {
  for (double& value : values) {
    if (std::isnan(value)) value = HUGE_VAL;  // a run that diverged
  }
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

std::string short_table(const RunSet& set) {
  std::vector<const Cell*> cells = set.parts.empty() ? std::vector<const Cell*>{} : set.of_part(set.parts.front());
  std::erase_if(cells, [](const Cell* cell) { return cell->runs.empty(); });
  if (cells.empty()) return {};

  std::vector<std::string> numbers;
  for (const char* name : kNumbers) {
    const bool known = std::any_of(cells.begin(), cells.end(),
                                   [&](const Cell* cell) { return cell->runs.front().summary.contains(name); });
    if (known) numbers.emplace_back(name);
  }
  std::string text = fmt::format("{}: medians over the seeds\n{:<14}", set.parts.front(), "method");
  for (const auto& [axis, value] : cells.front()->axes.items()) text += fmt::format(" {:<8}", axis);
  for (const std::string& name : numbers) text += fmt::format(" {:>14}", name);
  text += fmt::format(" {:>6}\n", "seeds");
  for (const Cell* cell : cells) {
    text += fmt::format("{:<14}", cell->method);
    for (const auto& [axis, value] : cell->axes.items()) text += fmt::format(" {:<8}", to_text(value));
    for (const std::string& name : numbers) text += fmt::format(" {:>14.3g}", median(cell->values(name)));
    text += fmt::format(" {:>6}\n", cell->runs.size());
  }
  return text;
}

}  // namespace trasmuon::lab
