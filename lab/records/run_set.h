// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lab/config/run_spec.h"

namespace trasmuon::lab {

/// One table of a run, by column. Empty cells are NaN.
struct Columns {
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;                             ///< [column][row]
  const std::vector<double>& operator[](std::string_view name) const;  ///< throws Error if unknown
};

/// A finished run as its folder tells it.
struct RunRecord {
  std::filesystem::path folder;
  RunSpec spec;
  Json summary;                                  ///< {"final_loss": 2.1e5, ...}
  Columns table(const std::string& name) const;  ///< reads NAME.csv
  double value(const std::string& key) const;    ///< from the summary; NaN if null or absent
};

/// The runs of one method at one point of a part's grid, by seed.
struct Cell {
  std::string part, method;
  Json axes;
  std::vector<RunRecord> runs;
  std::size_t planned = 0;  ///< runs the recipe asks for; more than runs.size() when unfinished
  std::vector<double> values(const std::string& key) const;  ///< one per run
};

/// Everything under one folder of runs, in the recipe's order.
struct RunSet {
  std::string name, title, study, command;
  Json machine;  ///< {"cpu": ..., "threads": ..., "version": ...}
  std::vector<std::string> parts, methods;
  std::vector<Cell> cells;

  /// The cell, or null. `axes` must name every axis of the part.
  const Cell* find(std::string_view part, std::string_view method, const Json& axes = Json::object()) const;
  std::vector<const Cell*> of_part(std::string_view part) const;
};

RunSet load_runs(const std::filesystem::path& folder);

}  // namespace trasmuon::lab
