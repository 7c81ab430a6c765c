// SPDX-License-Identifier: Apache-2.0
#include "lab/records/run_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "lab/records/checksum.h"
#include "lab/records/files.h"
#include "lab/records/machine.h"
#include "lab/records/revision.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kFormat = 2;  // 1, without the number: summary.json has no "record"

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

Columns read_columns(const fs::path& file) {
  const std::string text = read_text(file);
  if (!text.ends_with('\n')) throw Error(file.string() + ": the last line is cut off");
  Columns columns;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const auto cells = split(line);
    if (begin == 0) {
      columns.names.assign(cells.begin(), cells.end());
      columns.values.resize(cells.size());
      continue;
    }
    if (cells.size() != columns.names.size()) {
      throw Error(file.string() + ": a row must have " + std::to_string(columns.names.size()) + " cells, got '" +
                  std::string(line) + "'");
    }
    for (std::size_t i = 0; i < cells.size(); ++i) columns.values[i].push_back(cell_value(cells[i], file));
  }
  return columns;
}

RunSpec read_spec(const fs::path& manifest, const Json& json) {
  try {
    return run_spec_from_json(json.at("spec"));
  } catch (const Error& error) {
    throw Error(manifest.string() + ": written by another version? " + error.what());
  }
}

/// Compares the tables with what the summary says about them.
void check_tables(const fs::path& folder, const Json& tables) {
  for (const auto& [name, written] : tables.items()) {
    const fs::path file = folder / (name + ".csv");
    const std::string text = read_text(file);
    if (text.size() != written.at("bytes").get<std::size_t>()) {
      throw Error(
          fmt::format("{}: must have {} bytes, got {}", file.string(), written.at("bytes").dump(), text.size()));
    }
    if (checksum(text) != written.at("checksum").get<std::string>()) {
      throw Error(file.string() + ": was changed after the run");
    }
  }
}

/// Checks the tables of an earlier version's record: numbers, and steps first as in all of them.
void check_readable_tables(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".csv") continue;
    const std::string first = read_columns(entry.path()).names.front();
    if (first != "step") throw Error(entry.path().string() + ": the first column must be 'step', got '" + first + "'");
  }
}

/// The revisions that made the run: one, or several if it was continued with other code.
std::string revisions_of(const Json& manifest) {
  std::string last = manifest.value("revision", ""), all = last;
  for (const Json& later : manifest.value("continued", Json::array())) {
    const auto revision = later.at("revision").get<std::string>();
    if (revision != last) all += ", then " + revision;
    last = revision;
  }
  return all;
}

Json machine_of(const Json& manifest) {
  const Json continued = manifest.value("continued", Json::array());
  return continued.empty() ? manifest.value("machine", Json::object()) : continued.back().at("machine");
}

RunRecord read_finished(const fs::path& folder) {
  const fs::path manifest_file = folder / "manifest.json", summary_file = folder / "summary.json";
  Json summary = read_json(summary_file);
  if (!summary.is_object() || summary.empty()) throw Error(summary_file.string() + ": has no numbers");
  const Json manifest = read_json(manifest_file);
  RunSpec spec = read_spec(manifest_file, manifest);
  const std::string id = run_id(spec);
  if (id != folder.filename()) throw Error(manifest_file.string() + ": is of another run, " + id);
  if (manifest.value("format", 1) < kFormat) {
    check_readable_tables(folder);
  } else {
    const Json record = summary.at("record");
    if (record.at("run") != id)
      throw Error(summary_file.string() + ": is of another run, " + to_text(record.at("run")));
    check_tables(folder, record.at("tables"));
    summary.erase("record");
  }
  return {.folder = folder,
          .spec = std::move(spec),
          .summary = std::move(summary),
          .revision = revisions_of(manifest),
          .machine = machine_of(manifest)};
}

}  // namespace

const std::vector<double>& Columns::operator[](std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error(fmt::format("the table has no column '{}'; it has {}", name, fmt::join(names, ", ")));
  }
  return values[static_cast<std::size_t>(found - names.begin())];
}

Columns RunRecord::table(const std::string& name) const { return read_columns(folder / (name + ".csv")); }

double RunRecord::value(const std::string& key) const {
  const auto found = summary.find(key);
  return found != summary.end() && found->is_number() ? found->get<double>() : kNaN;
}

void write_manifest(const RunSpec& spec, const fs::path& folder) {
  const Json manifest = {{"format", kFormat},
                         {"spec", to_json(spec)},
                         {"revision", code_revision()},
                         {"machine", describe_machine()},
                         {"started", utc_now()}};
  write_atomically(folder / "manifest.json", manifest.dump(1) + "\n");
}

void note_continuation(const fs::path& folder) {
  const fs::path file = folder / "manifest.json";
  Json manifest = read_json(file);
  manifest["continued"].push_back(
      {{"revision", code_revision()}, {"machine", describe_machine()}, {"started", utc_now()}});
  write_atomically(file, manifest.dump(1) + "\n");
}

void write_summary(Json summary, const RunSpec& spec, const RunLog& log, const fs::path& folder) {
  if (!summary.is_object() || summary.empty()) throw Error("study '" + spec.study + "' returned no numbers");
  summary["record"] = {{"run", run_id(spec)}, {"tables", log.tables()}};
  write_atomically(folder / "summary.json", summary.dump(1) + "\n");
}

std::optional<RunRecord> read_record(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder / "summary.json", error))) return {};
  try {
    return read_finished(folder);
  } catch (const Json::exception& damage) {
    throw Error(folder.string() + ": a field of manifest.json or summary.json is missing or wrong: " + damage.what());
  } catch (const fs::filesystem_error& damage) {
    throw Error(damage.what());
  }
}

}  // namespace trasmuon::lab
