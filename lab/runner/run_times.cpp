// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/run_times.h"

#include <algorithm>

namespace trasmuon::lab {

void RunTimes::expect(const std::string& kind) { ++kinds_[kind].waiting; }

void RunTimes::start(const std::string& kind) { --kinds_[kind].waiting; }

void RunTimes::finish(const std::string& kind, double seconds) {
  ++kinds_[kind].known;
  kinds_[kind].seconds += seconds;
}

std::optional<double> RunTimes::remaining(std::span<const Running> running, int jobs) const {
  constexpr double kEnough = 0.02;  // below this fraction the extrapolation is too uncertain
  std::map<std::string, Kind> kinds = kinds_;
  for (const Running& run : running) {
    if (run.fraction < kEnough) continue;
    ++kinds[run.kind].known;
    kinds[run.kind].seconds += run.elapsed / run.fraction;
  }
  const auto mean = [](const Kind& kind) { return kind.seconds / kind.known; };

  double sum = 0;
  int known = 0;
  for (const auto& [name, kind] : kinds) {
    if (kind.known == 0) continue;
    sum += mean(kind);
    ++known;
  }
  if (known == 0) return {};
  const double typical = sum / known;
  const auto expected = [&](const Kind& kind) { return kind.known > 0 ? mean(kind) : typical; };

  double work = 0, longest = 0;
  for (const auto& [name, kind] : kinds) work += kind.waiting * expected(kind);
  for (const Running& run : running) {
    const double whole = run.fraction >= kEnough ? run.elapsed / run.fraction : expected(kinds[run.kind]);
    const double rest = std::max(0.0, whole - run.elapsed);
    work += rest;
    longest = std::max(longest, rest);
  }
  return std::max(longest, work / jobs);
}

}  // namespace trasmuon::lab
