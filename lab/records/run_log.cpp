// SPDX-License-Identifier: Apache-2.0
#include "lab/records/run_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <utility>

#include "lab/records/files.h"

namespace trasmuon::lab {

MetricsTable::MetricsTable(const std::filesystem::path& file, const std::vector<std::string>& columns)
    : file_(file),
      descriptor_(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)),
      columns_(columns.size()) {
  if (descriptor_ < 0) throw WriteError(file_, errno);
  write(fmt::format("{}\n", fmt::join(columns, ",")));
}

MetricsTable::MetricsTable(const std::filesystem::path& file, std::size_t bytes, const std::string& checksum)
    : file_(file), descriptor_(-1), columns_(0), bytes_(bytes) {
  const std::string text = read_text(file);
  if (text.size() < bytes)
    throw Error(fmt::format("{}: must have at least {} bytes, got {}", file.string(), bytes, text.size()));
  checksum_.add(std::string_view(text).substr(0, bytes));
  if (checksum_.text() != checksum) throw Error(file.string() + ": was changed after the checkpoint");
  const auto header_end = text.begin() + static_cast<std::ptrdiff_t>(std::min(text.find('\n'), text.size()));
  columns_ = 1 + static_cast<std::size_t>(std::count(text.begin(), header_end, ','));
  descriptor_ = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ >= 0 && ::ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0) return;
  const int reason = errno;
  if (descriptor_ >= 0) ::close(descriptor_);
  throw WriteError(file_, reason);
}

MetricsTable::~MetricsTable() {
  write_all(descriptor_, buffer_);  // of a run that failed; what can be written helps to find out why
  ::close(descriptor_);
}

void MetricsTable::row(std::span<const double> values) {
  if (values.size() != columns_) {
    throw Error(file_.filename().string() + ": a row must have " + std::to_string(columns_) + " values, got " +
                std::to_string(values.size()));
  }
  std::string line;
  for (const double& value : values) {
    if (&value != values.data()) line += ',';
    if (std::isnan(value)) continue;
    char text[32];  // the shortest text that reads back as the same number
    line.append(text, std::to_chars(text, text + sizeof text, value).ptr);
  }
  write(line + '\n');
}

void MetricsTable::write(std::string_view line) {
  constexpr std::size_t kBuffer = 1 << 16;
  bytes_ += line.size();
  checksum_.add(line);
  buffer_ += line;
  if (buffer_.size() >= kBuffer) flush();
}

void MetricsTable::flush() {
  const int reason = write_all(descriptor_, buffer_);
  buffer_.clear();
  if (reason != 0) throw WriteError(file_, reason, bytes_);
}

void MetricsTable::sync() {
  flush();
  if (::fsync(descriptor_) != 0 && errno != EINVAL) throw WriteError(file_, errno, bytes_);  // EINVAL: not a disk
}

RunLog::RunLog(std::filesystem::path folder, std::function<void(double)> progress)
    : folder_(std::move(folder)), progress_(std::move(progress)) {}

MetricsTable& RunLog::table(const std::string& name, const std::vector<std::string>& columns) {
  const auto found = tables_.find(name);
  if (found != tables_.end()) return found->second;
  MetricsTable& table = tables_.try_emplace(name, folder_ / (name + ".csv"), columns).first->second;
  table.flush();  // a full disk is found before the work
  return table;
}

void RunLog::progress(double fraction) const {
  if (progress_) progress_(fraction);
}

void RunLog::flush() {
  for (auto& [name, table] : tables_) table.flush();
}

void RunLog::sync() {
  for (auto& [name, table] : tables_) table.sync();
}

Json RunLog::tables() const {
  Json tables = Json::object();
  for (const auto& [name, table] : tables_) tables[name] = {{"bytes", table.bytes()}, {"checksum", table.checksum()}};
  return tables;
}

void RunLog::continue_from(const Json& tables) {
  tables_.clear();
  for (const auto& [name, written] : tables.items()) {
    tables_.try_emplace(name, folder_ / (name + ".csv"), written.at("bytes").get<std::size_t>(),
                        written.at("checksum").get<std::string>());
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::filesystem::path& file = entry.path();
    if (file.extension() == ".csv" && !tables.contains(file.stem())) std::filesystem::remove(file);
  }
}

}  // namespace trasmuon::lab
