// SPDX-License-Identifier: Apache-2.0
#include "lab/report/figures/curves.h"

#include <algorithm>
#include <limits>
#include <map>

#include "lab/report/statistics/groups.h"

namespace trasmuon::lab {

namespace {

void add_point(Line& line, double x, const std::vector<double>& values) {
  const Spread spread = spread_of(values);
  line.x.push_back(x);
  line.y.push_back(spread.median);
  line.low.push_back(spread.low);
  line.high.push_back(spread.high);
}

Line line_of(const SeedGroup& group) {
  return {.label = method_label(group.method), .style = method_style(group.method)};
}

}  // namespace

std::optional<Columns> read_table(const RunRecord& run, const std::string& name) {
  if (!std::filesystem::exists(run.folder / (name + ".csv"))) return std::nullopt;
  return run.table(name);
}

Line seed_band(const SeedGroup& group, const std::string& table, const std::string& column, std::size_t max_points) {
  std::vector<std::vector<double>> seeds;
  std::vector<double> steps;
  for (const RunRecord& run : group.runs) {
    const auto columns = read_table(run, table);
    if (!columns) continue;
    seeds.push_back((*columns)[column]);
    if ((*columns)["step"].size() > steps.size()) steps = (*columns)["step"];
  }
  Line line = line_of(group);
  const std::size_t bin = std::max<std::size_t>(1, (steps.size() + max_points - 1) / max_points);
  for (std::size_t begin = 0; begin < steps.size(); begin += bin) {
    const std::size_t end = std::min(begin + bin, steps.size());
    std::vector<double> values;
    for (const auto& seed : seeds) {
      for (std::size_t row = begin; row < end; ++row)
        values.push_back(row < seed.size() ? seed[row] : std::numeric_limits<double>::infinity());
    }
    add_point(line, (steps[begin] + steps[end - 1]) / 2, values);
  }
  return line;
}

std::vector<std::size_t> event_rows(const Columns& metrics) {
  std::vector<std::size_t> rows;
  const std::vector<double>& event = metrics["event"];
  for (std::size_t row = 0; row < event.size(); ++row)
    if (event[row] == 1) rows.push_back(row);
  return rows;
}

Line event_band(const SeedGroup& group, const std::string& column, int before, int after, double p) {
  std::map<int, std::vector<double>> by_offset;
  for (const RunRecord& run : group.runs) {
    const auto metrics = read_table(run, "metrics");
    if (!metrics) continue;
    const std::vector<double>& values = (*metrics)[column];
    for (int offset = -before; offset <= after; ++offset) {
      std::vector<double> over_events;
      for (const std::size_t event : event_rows(*metrics)) {
        if (event < static_cast<std::size_t>(before) || event + static_cast<std::size_t>(after) >= values.size())
          continue;
        over_events.push_back(values[event + static_cast<std::size_t>(offset)] / values[event - 1]);
      }
      if (!over_events.empty()) by_offset[offset].push_back(quantile(over_events, p));
    }
  }
  Line line = line_of(group);
  for (const auto& [offset, over_seeds] : by_offset) add_point(line, offset, over_seeds);
  return line;
}

Line axis_band(const std::vector<const SeedGroup*>& groups, const std::string& axis, const std::string& key) {
  std::map<double, const SeedGroup*> sorted;
  for (const SeedGroup* group : groups) {
    const Json place = setting_of(*group, axis);
    if (place.is_number() && !group->runs.empty()) sorted[place.get<double>()] = group;
  }
  Line line;
  if (!groups.empty()) line = line_of(*groups.front());
  line.points = true;
  for (const auto& [place, group] : sorted) add_point(line, place, values_of(group, key));
  return line;
}

Box seed_box(const SeedGroup& group, const std::string& key) {
  return {method_label(group.method), method_style(group.method), values_of(&group, key)};
}

}  // namespace trasmuon::lab
