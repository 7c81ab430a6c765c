// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

namespace trasmuon::lab {

/// How long the rest of a plan will take. Runs of one kind (equal but for the seed) take about as long as each other,
/// runs of different kinds may not, so each kind has its own mean.
class RunTimes {
 public:
  struct Running {
    std::string kind;
    double elapsed, fraction;  ///< seconds; share of the run that is done
  };

  void expect(const std::string& kind);
  void start(const std::string& kind);
  void finish(const std::string& kind, double seconds);

  /// Seconds until all is done with so many runs at once; none while nothing is known.
  std::optional<double> remaining(std::span<const Running> running, int jobs) const;

 private:
  struct Kind {
    int waiting = 0;
    int known = 0;       ///< finished
    double seconds = 0;  ///< of these together
  };
  std::map<std::string, Kind> kinds_;
};

}  // namespace trasmuon::lab
