// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/optimizer.h>

#include <string>
#include <vector>

#include "lab/records/run_log.h"

namespace trasmuon::lab {

/// What a step did to the hidden matrices, from the optimizer's diagnostics. Ratios r_j are of a column's energy to the
/// reference, and c_j its damping; rules without them have r = 0 and c = 1.
struct LayerStatistics {
  double update_rms = 0;     ///< over all elements, without weight decay
  double r_max = 0;          ///< largest ratio of all
  double r_q95 = 0;          ///< mean over the matrices of the 95 % quantile
  double c_min = 1;          ///< smallest damping of all
  double c_mean = 1;         ///< over all columns
  double damped_share = 0;   ///< of all columns
  double triggered = 0;      ///< share of the matrices with a ratio above the trigger
  std::int64_t skipped = 0;  ///< steps of a matrix that were skipped so far for non-finite gradients
};

/// Reads the statistics of the parameters of group 0 and writes a row by matrix to the tables "ratio_max", "ratio_q95"
/// and "damped_share", whose columns are the matrices' names.
class LayerReader {
 public:
  explicit LayerReader(const Optimizer& optimizer);

  std::size_t matrices() const { return names_.size(); }
  LayerStatistics read(const Optimizer& optimizer) const;
  void log(const Optimizer& optimizer, int step, RunLog& log) const;

 private:
  std::vector<std::string> names_;
  double trigger_ = 0;
  bool has_ratios_ = false;
};

}  // namespace trasmuon::lab
