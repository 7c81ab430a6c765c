// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/optimizer.h>

#include <span>

#include "lab/mechanistic/bursts.h"

namespace trasmuon::lab {

/// An optimizer of one square f64 matrix whose momentum bursts in some steps: the step's update and energies see
/// (M Q) D Q^T instead of M, and the momentum is restored after it. What a rule derives from M in that step (row
/// moments, reference energies, Dion's basis) keeps the effect of the burst; what it derives from the gradient (AdamW's
/// second moment) never sees it.
class BurstedOptimizer {
 public:
  /// `weight` and `bursts` must outlive this object; `bursts` is null for a run without bursts.
  BurstedOptimizer(const Options& options, std::span<double> weight, int dim, const Bursts* bursts);

  /// Step number `step`, from 1. May overwrite the gradient in a burst.
  void step(int step, std::span<double> gradient);

  bool bursts_at(int step) const { return bursts_ != nullptr && bursts_->at(step); }
  const Diagnostics& diagnostics() const { return optimizer_.diagnostics(0).front(); }
  std::span<const double> damping() const { return damping_; }  ///< c of the last step; empty unless TrasMuon
  Optimizer& optimizer() { return optimizer_; }

 private:
  void prepare_first_moment(int step, std::span<const double> gradient);

  Optimizer optimizer_;
  const Bursts* bursts_;
  double adamw_beta1_ = 0;  // of AdamW, else 0
  std::span<double> momentum_;
  std::span<const double> damping_;
};

}  // namespace trasmuon::lab
