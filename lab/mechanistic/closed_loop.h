// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/report/statistics/groups.h"

namespace trasmuon::lab {

/// How often, seed by seed, something happens in the steps of one phase of the burst period: r_max rises, c_used_min
/// falls, or c of the column hit falls.
struct PhaseResponse {
  BySeed energy_rises, lowest_falls, hit_falls;  ///< shares of the steps, after the warm-up
};

/// The damping's response at bursts (offset 0), and in the steps `offset` after each burst, which are the placebo:
/// whatever happens there as often is no response to a burst.
class ClosedLoop {
 public:
  explicit ClosedLoop(const SeedGroup* group);  ///< reads the runs' tables; null, or no tables: not known()

  bool known() const { return events_ > 0; }
  std::size_t events() const { return events_; }
  int period() const { return static_cast<int>(phases_.size()); }
  const PhaseResponse& at(int offset) const { return phases_[static_cast<std::size_t>(offset)]; }
  PhaseResponse placebo() const;                     ///< mean over all other phases
  double rise() const { return rise_; }              ///< median of r_max at a burst over r_max before
  double hit_before() const { return hit_before_; }  ///< medians of c of the column hit
  double hit_after() const { return hit_after_; }
  double lowest_before() const { return lowest_before_; }  ///< medians of c_used_min
  double lowest_after() const { return lowest_after_; }

 private:
  void add_run(const RunRecord& run, double warmup);

  std::size_t events_ = 0;
  std::vector<PhaseResponse> phases_;
  std::vector<double> rises_, hits_before_, hits_after_, lowests_before_, lowests_after_;
  double rise_ = 0, hit_before_ = 1, hit_after_ = 1, lowest_before_ = 1, lowest_after_ = 1;
};

}  // namespace trasmuon::lab
