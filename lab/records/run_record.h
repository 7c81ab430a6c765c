// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/error.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/records/run_log.h"
#include "lab/records/run_spec.h"

namespace trasmuon::lab {

/// One table of a run, by column. Empty cells are NaN.
struct Columns {
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;                             ///< [column][row]
  const std::vector<double>& operator[](std::string_view name) const;  ///< throws Error if unknown
};

/// A finished run, as read from its folder.
struct RunRecord {
  std::filesystem::path folder;
  RunSpec spec;
  Json summary;                                  ///< {"final_loss": 2.1e5, ...}
  std::string revision = {};                     ///< of the code; empty in records of earlier versions. "a, then b"
  Json machine = Json::object();                 ///< that did the run, see describe_machine; the last one of several
  Columns table(const std::string& name) const;  ///< reads NAME.csv
  double value(const std::string& key) const;    ///< from the summary; NaN if null or absent
};

/// Writes manifest.json, before the run.
void write_manifest(const RunSpec& spec, const std::filesystem::path& folder);

/// Adds to manifest.json that the run continues now, perhaps with other code or on another machine.
void note_continuation(const std::filesystem::path& folder);

/// Writes summary.json, after the run: the numbers, and under "record" what read_record compares with the files.
void write_summary(Json summary, const RunSpec& spec, const RunLog& log, const std::filesystem::path& folder);

/// Reads the run in this folder; nothing if it is not finished. Throws Error with file and reason if the record is
/// damaged: not JSON, of another run, a table shorter or other than the one written. Records of earlier versions do
/// not tell the sizes of their tables, so a table that lacks whole rows passes there.
std::optional<RunRecord> read_record(const std::filesystem::path& folder);

}  // namespace trasmuon::lab
