// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/records/checksum.h"
#include "lab/records/json.h"

namespace trasmuon::lab {

/// An append-only CSV file of a run. A NaN is an empty cell.
class MetricsTable {
 public:
  MetricsTable(const std::filesystem::path& file, const std::vector<std::string>& columns);
  /// Opens an existing table, cut to its first `bytes` bytes. Throws Error unless those have this checksum.
  MetricsTable(const std::filesystem::path& file, std::size_t bytes, const std::string& checksum);
  ~MetricsTable();
  MetricsTable(const MetricsTable&) = delete;
  MetricsTable& operator=(const MetricsTable&) = delete;

  void row(std::span<const double> values);  ///< one value per column
  void row(std::initializer_list<double> values) { row(std::span(values.begin(), values.size())); }
  void flush();                                 ///< throws WriteError
  void sync();                                  ///< flushes, and waits until it is on the disk
  std::size_t bytes() const { return bytes_; }  ///< written so far
  std::string checksum() const { return checksum_.text(); }

 private:
  void write(std::string_view line);

  std::filesystem::path file_;
  int descriptor_;
  std::string buffer_;
  std::size_t columns_, bytes_ = 0;
  Checksum checksum_;
};

/// What a study writes while it runs, into the run's folder.
class RunLog {
 public:
  explicit RunLog(std::filesystem::path folder, std::function<void(double)> progress = {});
  /// The table NAME.csv, created with this header on first use: "metrics", "events", "eval".
  MetricsTable& table(const std::string& name, const std::vector<std::string>& columns);
  void progress(double fraction) const;  ///< of this run, for the progress bar; cheap
  void flush();                          ///< all tables
  void sync();                           ///< all tables, see MetricsTable
  /// Returns size and checksum of every table as written so far: {"metrics": {"bytes": 512, "checksum": "..."}}.
  Json tables() const;
  /// Continues the tables of an earlier process, each as it was when tables() gave this; later ones are removed.
  /// Throws Error with file and reason if a table does not begin with those bytes.
  void continue_from(const Json& tables);
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::function<void(double)> progress_;
  std::map<std::string, MetricsTable> tables_;
};

}  // namespace trasmuon::lab
