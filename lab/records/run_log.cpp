// SPDX-License-Identifier: Apache-2.0
#include "lab/records/run_log.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <utility>

#include "lab/config/names.h"
#include "lab/records/files.h"

namespace trasmuon::lab {

MetricsTable::MetricsTable(const std::filesystem::path& file, std::vector<std::string> columns)
    : file_(file), stream_(file), columns_(columns.size()) {
  stream_ << joined(columns, ",") << '\n';
  flush();
}

void MetricsTable::row(std::initializer_list<double> values) {
  if (values.size() != columns_) {
    throw Error(file_.filename().string() + ": a row must have " + std::to_string(columns_) + " values, got " +
                std::to_string(values.size()));
  }
  char separator = 0;
  for (const double value : values) {
    if (separator != 0) stream_ << separator;
    separator = ',';
    if (std::isnan(value)) continue;
    char text[32];  // the shortest text that reads back as the same number
    stream_.write(text, std::to_chars(text, text + sizeof text, value).ptr - text);
  }
  stream_ << '\n';
  if (!stream_) flush();
}

void MetricsTable::flush() {
  if (stream_.flush()) return;
  throw WriteError(file_, errno);
}

RunLog::RunLog(std::filesystem::path folder, std::function<void(double)> progress)
    : folder_(std::move(folder)), progress_(std::move(progress)) {}

MetricsTable& RunLog::table(const std::string& name, std::vector<std::string> columns) {
  const auto found = tables_.find(name);
  if (found != tables_.end()) return found->second;
  return tables_.try_emplace(name, folder_ / (name + ".csv"), std::move(columns)).first->second;
}

void RunLog::progress(double fraction) const {
  if (progress_) progress_(fraction);
}

void RunLog::flush() {
  for (auto& [name, table] : tables_) table.flush();
}

}  // namespace trasmuon::lab
