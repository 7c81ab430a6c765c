// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/short_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trasmuon::lab {
namespace {

double median(std::vector<double> values) {
  for (double& value : values) {
    if (std::isnan(value)) value = HUGE_VAL;  // a run that diverged
  }
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<std::string> numbers_in(const Json& summary) {
  std::vector<std::string> names;
  for (const auto& [name, value] : summary.items()) {
    if (value.is_number() || value.is_null()) names.push_back(name);
  }
  return names;
}

using Row = std::vector<std::string>;

/// The head and a row per group: method, axes, numbers, seeds.
std::vector<Row> rows_of(const std::vector<const SeedGroup*>& groups, const std::vector<std::string>& numbers) {
  Row head = {"method"};
  for (const auto& [axis, value] : groups.front()->axes.items()) head.push_back(axis);
  head.insert(head.end(), numbers.begin(), numbers.end());
  head.emplace_back("seeds");
  std::vector<Row> rows = {head};
  for (const SeedGroup* group : groups) {
    Row row = {group->method};
    for (const auto& [axis, value] : group->axes.items()) row.push_back(to_text(value));
    for (const std::string& name : numbers) row.push_back(fmt::format("{:.3g}", median(group->values(name))));
    row.push_back(std::to_string(group->runs.size()));
    rows.push_back(std::move(row));
  }
  return rows;
}

/// `words`: how many columns hold words, at the left.
std::string as_table(const std::vector<Row>& rows, std::size_t words) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < rows.front().size(); ++i) {
    widths.push_back(i == 0 || (i >= words && i + 1 < rows.front().size()) ? 14 : i < words ? 8 : 6);
    for (const Row& row : rows) widths.back() = std::max(widths.back(), row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? "" : " ";
      text += i < words ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("{:>{}}", row[i], widths[i]);
    }
    text += '\n';
  }
  return text;
}

/// For narrow terminals: a line per cell.
std::string as_list(const std::vector<Row>& rows) {
  std::string text;
  for (std::size_t r = 1; r < rows.size(); ++r) {
    text += rows[r].front() + '\n';
    for (std::size_t i = 1; i < rows[r].size(); ++i) text += fmt::format(" {} {}\n", rows.front()[i], rows[r][i]);
  }
  return text;
}

}  // namespace

std::string short_table(const RunSet& set, const std::vector<std::string>& numbers, int width) {
  std::vector<const SeedGroup*> groups =
      set.parts.empty() ? std::vector<const SeedGroup*>{} : set.of_part(set.parts.front());
  std::erase_if(groups, [](const SeedGroup* group) { return group->runs.empty(); });
  if (groups.empty()) return {};

  std::vector<std::string> columns = numbers.empty() ? numbers_in(groups.front()->runs.front().summary) : numbers;
  std::erase_if(columns, [&](const std::string& name) {
    return std::none_of(groups.begin(), groups.end(),
                        [&](const SeedGroup* group) { return group->runs.front().summary.contains(name); });
  });
  const std::string title = fmt::format("{}: medians over the seeds\n", set.parts.front());
  const std::vector<Row> rows = rows_of(groups, columns);
  const std::string table = as_table(rows, 1 + groups.front()->axes.size());
  const bool fits = width == 0 || table.find('\n') <= static_cast<std::size_t>(width);
  return title + (fits ? table : as_list(rows));
}

}  // namespace trasmuon::lab
