// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

namespace trasmuon::lab {

/// Estimates how long the rest of a plan takes. Runs of one kind (they differ only in the seed) take about equally
/// long, runs of different kinds may not, so each kind has its own mean.
class RunTimes {
 public:
  struct Running {
    std::string kind;
    double elapsed, fraction;  ///< seconds; share of the run that is done
  };

  void expect(const std::string& kind);
  void start(const std::string& kind);
  void finish(const std::string& kind, double seconds);

  /// Seconds until all runs are done with `jobs` at once; nothing while no run has told its speed.
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
