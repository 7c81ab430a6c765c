// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace trasmuon::lab {

/// An append-only CSV file of a run. A NaN is an empty cell.
class MetricsTable {
 public:
  MetricsTable(const std::filesystem::path& file, std::vector<std::string> columns);
  void row(std::initializer_list<double> values);  ///< one value per column
  void flush();                                    ///< throws Error when something could not be written

 private:
  std::filesystem::path file_;
  std::ofstream stream_;
  std::size_t columns_;
};

/// What a study writes while it runs, into the run's folder.
class RunLog {
 public:
  explicit RunLog(std::filesystem::path folder, std::function<void(double)> progress = {});
  /// The table NAME.csv, created with this header on first use: "metrics", "events", "eval".
  MetricsTable& table(const std::string& name, std::vector<std::string> columns);
  void progress(double fraction) const;  ///< of this run, for the progress bar; cheap
  void flush();                          ///< all tables

 private:
  std::filesystem::path folder_;
  std::function<void(double)> progress_;
  std::map<std::string, MetricsTable> tables_;
};

}  // namespace trasmuon::lab
