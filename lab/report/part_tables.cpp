// SPDX-License-Identifier: Apache-2.0
#include "lab/report/part_tables.h"

#include <algorithm>
#include <set>

#include "lab/report/figures/figure.h"
#include "lab/report/format.h"
#include "lab/report/statistics/groups.h"

namespace trasmuon::lab {

namespace {

constexpr std::size_t kLongAxis = 5;  // values of an axis from which on a part is shown as a grid

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? plain(value.get<double>()) : value.dump();
}

TableCell cell_of(const SeedGroup& group, const NumberColumn& column) {
  TableCell cell = number_cell(spread_of(&group, column.key));
  if (!column.quartiles) cell.detail.clear();
  return cell;
}

/// The only axis of the part, if it is long; else empty.
std::string long_axis(const std::vector<const SeedGroup*>& groups) {
  std::map<std::string, std::set<std::string>> values;
  for (const SeedGroup* group : groups)
    for (const auto& [key, value] : group->axes.items()) values[key].insert(value.dump());
  return values.size() == 1 && values.begin()->second.size() >= kLongAxis ? values.begin()->first : "";
}

Table list_of(const std::vector<const SeedGroup*>& groups, const std::vector<NumberColumn>& columns,
              const std::string& caption) {
  const bool axes = std::any_of(groups.begin(), groups.end(), [](const SeedGroup* g) { return !g->axes.empty(); });
  Table table{caption, {{"method", false}}, {}};
  if (axes) table.columns.push_back({"settings", false});
  for (const NumberColumn& column : columns) table.columns.push_back({column.name});
  table.columns.push_back({"seeds"});
  for (const SeedGroup* group : groups) {
    std::vector<TableCell> row = {{method_label(group->method)}};
    if (axes) row.push_back({axes_text(group->axes)});
    for (const NumberColumn& column : columns) row.push_back(cell_of(*group, column));
    row.push_back({std::to_string(group->runs.size())});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table grid_of(const std::vector<const SeedGroup*>& groups, const std::string& axis, const NumberColumn& column,
              const std::string& caption) {
  std::vector<Json> places;
  std::vector<std::string> methods;
  std::map<std::pair<std::string, std::string>, const SeedGroup*> at;
  for (const SeedGroup* group : groups) {
    const Json place = group->axes.value(axis, Json());
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    if (std::find(methods.begin(), methods.end(), group->method) == methods.end()) methods.push_back(group->method);
    at[{group->method, place.dump()}] = group;
  }
  Table table{caption + ": " + column.name + " by " + axis, {{"method", false}}, {}};
  for (const Json& place : places) table.columns.push_back({value_text(place)});
  table.columns.push_back({"seeds"});
  for (const std::string& method : methods) {
    std::vector<TableCell> row = {{method_label(method)}};
    std::set<std::size_t> seeds;
    for (const Json& place : places) {
      const auto found = at.find({method, place.dump()});
      if (found != at.end()) seeds.insert(found->second->runs.size());
      row.push_back(found == at.end() ? TableCell{"–", "", Tone::muted}
                                      : cell_of(*found->second, {column.key, column.name, false}));
    }
    const std::string least = seeds.empty() ? "0" : std::to_string(*seeds.begin());
    row.push_back({seeds.size() < 2 ? least : least + " to " + std::to_string(*seeds.rbegin())});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::string axes_text(const Json& axes) {
  std::string text;
  for (const auto& [key, value] : axes.items()) text += (text.empty() ? "" : ", ") + key + " = " + value_text(value);
  return text;
}

void add_part_tables(const RunSet& runs, const std::vector<NumberColumn>& columns, std::size_t main,
                     const std::map<std::string, std::string>& captions, Document& document) {
  for (const std::string& part : runs.parts) {
    const std::vector<const SeedGroup*> groups = runs.of_part(part);
    if (groups.empty()) continue;
    const std::string caption = "Part " + part + (captions.contains(part) ? ": " + captions.at(part) : "");
    const std::string axis = long_axis(groups);
    if (axis.empty()) {
      document.add(list_of(groups, columns, caption));
      continue;
    }
    for (std::size_t i = 0; i < main; ++i) document.add(grid_of(groups, axis, columns[i], caption));
  }
}

}  // namespace trasmuon::lab
