// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

namespace trasmuon::lab {

std::string duration_text(double seconds);  ///< "42 s", "3:07 min", "1:02 h"

/// The progress of a plan in at most `width` columns: without the bar, without words or cut off if they are few.
/// `running` and `remaining` are those of Progress::update.
std::string progress_line(int width, double share, std::size_t finished, std::size_t total, std::size_t running,
                          std::optional<double> remaining);

/// Shows the progress of a plan: on a terminal one line that is redrawn, elsewhere a line every 5 %, at most one in 2
/// s.
class Progress {
 public:
  Progress(std::FILE* stream, bool terminal, std::size_t total, std::size_t finished);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `in_flight` is the sum of the completed fractions of the running runs.
  void update(std::size_t finished, std::size_t running, double in_flight, std::optional<double> remaining);
  void message(const std::string& line);  ///< above the bar

 private:
  void clear();

  std::FILE* stream_;
  bool terminal_, drawn_ = false;
  std::size_t total_;
  int last_percent_;
  std::chrono::steady_clock::time_point last_line_;
};

}  // namespace trasmuon::lab
