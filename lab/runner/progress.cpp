// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lab/runner/console.h"

namespace trasmuon::lab {
namespace {

std::string left_text(std::optional<double> remaining) {
  return remaining ? ", about " + duration_text(*remaining) + " left" : "";
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole % 3600 / 60);
}

std::string progress_line(int width, double share, std::size_t finished, std::size_t total, std::size_t running,
                          std::optional<double> remaining) {
  constexpr std::size_t kBar = 20;
  const auto full = static_cast<std::size_t>(kBar * share);
  const int percent = static_cast<int>(100 * share);
  const std::string numbers =
      fmt::format("{:3} %  {} of {} runs, {} running{}", percent, finished, total, running, left_text(remaining));
  const auto fits = [&](const std::string& line) { return static_cast<int>(line.size()) <= width; };
  std::string line = fmt::format("[{}{}] {}", std::string(full, '#'), std::string(kBar - full, '.'), numbers);
  if (!fits(line)) line = numbers;
  if (!fits(line)) line = fmt::format("{:3} %  {} of {} runs", percent, finished, total);
  if (!fits(line)) line = fmt::format("{} %", percent);
  return fits(line) ? line : line.substr(0, static_cast<std::size_t>(std::max(width, 0)));
}

Progress::Progress(std::FILE* stream, bool terminal, std::size_t total, std::size_t finished)
    : stream_(stream),
      terminal_(terminal),
      total_(total),
      last_percent_(static_cast<int>(100 * finished / total)),
      last_line_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { clear(); }

void Progress::update(std::size_t finished, std::size_t running, double in_flight, std::optional<double> remaining) {
  constexpr int kStep = 5;
  const double share = std::min(1.0, (static_cast<double>(finished) + in_flight) / static_cast<double>(total_));
  const int percent = static_cast<int>(100 * share);
  if (terminal_) {
    const int columns = terminal_width(stream_);  // again each time: windows change their size
    // The last column stays empty, where some terminals would start a new line.
    const int width = columns > 0 ? columns - 1 : std::numeric_limits<int>::max();
    print(stream_, "\r\033[K{}", progress_line(width, share, finished, total_, running, remaining));
    drawn_ = true;
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  const bool last = finished == total_;
  if (!last && (percent / kStep == last_percent_ / kStep || now - last_line_ < std::chrono::seconds(2))) return;
  print(stream_, "{:3} %  {} of {} runs{}\n", percent, finished, total_, last ? "" : left_text(remaining));
  last_percent_ = percent;
  last_line_ = now;
}

void Progress::message(const std::string& line) {
  clear();
  print(stream_, "{}\n", line);
}

void Progress::clear() {
  if (!drawn_) return;
  print(stream_, "\r\033[K");
  drawn_ = false;
}

}  // namespace trasmuon::lab
