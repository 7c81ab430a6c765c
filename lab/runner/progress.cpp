// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trasmuon::lab {

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole % 3600 / 60);
}

Progress::Progress(std::FILE* stream, bool terminal, std::size_t total, std::size_t finished)
    : stream_(stream),
      terminal_(terminal),
      total_(total),
      last_percent_(static_cast<int>(100 * finished / total)),
      last_line_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { clear(); }

void Progress::update(std::size_t finished, std::size_t running, double in_flight, std::optional<double> remaining) {
  constexpr int kWidth = 20, kStep = 5;
  const double share = std::min(1.0, (static_cast<double>(finished) + in_flight) / static_cast<double>(total_));
  const int percent = static_cast<int>(100 * share);
  const std::string left = remaining ? ", about " + duration_text(*remaining) + " left" : "";
  if (terminal_) {
    const auto full = static_cast<std::size_t>(kWidth * share);
    fmt::print(stream_, "\r\033[K[{}{}] {:3} %  {} of {} runs, {} at work{}", std::string(full, '#'),
               std::string(kWidth - full, '.'), percent, finished, total_, running, left);
    drawn_ = true;
    std::fflush(stream_);
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  const bool last = finished == total_;
  if (!last && (percent / kStep == last_percent_ / kStep || now - last_line_ < std::chrono::seconds(2))) return;
  fmt::print(stream_, "{:3} %  {} of {} runs{}\n", percent, finished, total_, last ? "" : left);
  std::fflush(stream_);
  last_percent_ = percent;
  last_line_ = now;
}

void Progress::message(const std::string& line) {
  clear();
  fmt::print(stream_, "{}\n", line);
  std::fflush(stream_);
}

void Progress::clear() {
  if (!drawn_) return;
  fmt::print(stream_, "\r\033[K");
  std::fflush(stream_);
  drawn_ = false;
}

}  // namespace trasmuon::lab
