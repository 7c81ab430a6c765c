// SPDX-License-Identifier: Apache-2.0
#include "lab/records/run_set.h"

#include <trasmuon/error.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>

#include "lab/config/names.h"
#include "lab/records/files.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

double cell_value(std::string_view cell, const fs::path& file) {
  if (cell.empty()) return kNaN;
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) {
    throw Error(file.string() + ": a cell must be a number, got '" + std::string(cell) + "'");
  }
  return value;
}

/// The cell a planned run belongs to, made when it is the first one.
Cell& cell_of(RunSet& set, const Json& planned) {
  const std::string part = planned.at("part"), method = planned.at("method");
  const Json& axes = planned.at("axes");
  for (Cell& cell : set.cells) {
    if (cell.part == part && cell.method == method && cell.axes == axes) return cell;
  }
  return set.cells.emplace_back(Cell{.part = part, .method = method, .axes = axes});
}

RunSpec read_spec(const fs::path& manifest) {
  const Json spec = read_json(manifest).at("spec");
  try {
    return run_spec_from_json(spec);
  } catch (const Error& error) {
    throw Error(manifest.string() + ": of another version? " + error.what());
  }
}

RunSet read_plan(const Json& plan, const fs::path& folder) {
  RunSet set{.name = plan.at("name"),
             .title = plan.at("title"),
             .study = plan.at("study"),
             .command = plan.at("command"),
             .machine = plan.at("machine"),
             .parts = plan.at("parts"),
             .methods = plan.at("methods"),
             .cells = {}};
  for (const Json& planned : plan.at("runs")) {
    Cell& cell = cell_of(set, planned);
    ++cell.planned;
    const fs::path run = folder / "runs" / planned.at("id").get<std::string>();
    if (!fs::exists(run / "summary.json")) continue;
    cell.runs.push_back(
        {.folder = run, .spec = read_spec(run / "manifest.json"), .summary = read_json(run / "summary.json")});
  }
  return set;
}

}  // namespace

const std::vector<double>& Columns::operator[](std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error("the table has no column '" + std::string(name) + "'" + suggestion(name, names));
  }
  return values[static_cast<std::size_t>(found - names.begin())];
}

Columns RunRecord::table(const std::string& name) const {
  const fs::path file = folder / (name + ".csv");
  std::istringstream stream(read_text(file));
  std::string line;
  std::getline(stream, line);
  Columns columns;
  for (const std::string_view title : split(line)) columns.names.emplace_back(title);
  columns.values.resize(columns.names.size());
  while (std::getline(stream, line)) {
    const auto cells = split(line);
    if (cells.size() != columns.names.size()) {
      throw Error(file.string() + ": a row must have " + std::to_string(columns.names.size()) + " cells, got '" + line +
                  "'");
    }
    for (std::size_t i = 0; i < cells.size(); ++i) columns.values[i].push_back(cell_value(cells[i], file));
  }
  return columns;
}

double RunRecord::value(const std::string& key) const {
  const auto found = summary.find(key);
  return found != summary.end() && found->is_number() ? found->get<double>() : kNaN;
}

std::vector<double> Cell::values(const std::string& key) const {
  std::vector<double> values;
  for (const RunRecord& run : runs) values.push_back(run.value(key));
  return values;
}

const Cell* RunSet::find(std::string_view part, std::string_view method, const Json& axes) const {
  for (const Cell& cell : cells) {
    if (cell.part == part && cell.method == method && cell.axes == axes) return &cell;
  }
  return nullptr;
}

std::vector<const Cell*> RunSet::of_part(std::string_view part) const {
  std::vector<const Cell*> found;
  for (const Cell& cell : cells) {
    if (cell.part == part) found.push_back(&cell);
  }
  return found;
}

RunSet load_runs(const fs::path& folder) {
  const fs::path plan = folder / "plan.json";
  if (!fs::exists(plan)) throw Error(folder.string() + ": holds no runs (no plan.json); `trasmuon run` makes them");
  try {
    return read_plan(read_json(plan), folder);
  } catch (const Json::exception& error) {
    throw Error(folder.string() + ": its records are damaged: " + error.what());
  }
}

}  // namespace trasmuon::lab
