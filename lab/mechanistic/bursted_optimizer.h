// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/optimizer.h>

#include <span>
#include <vector>

#include "lab/mechanistic/bursts.h"

namespace trasmuon::lab {

/// An optimizer of one square f64 matrix whose momentum bursts in some steps: the step's update and energies see
/// (M Q) D Q^T instead of M, and the momentum is restored after it. The other state of the rule keeps the effect of the
/// burst.
class BurstedOptimizer {
 public:
  /// `weight` and `bursts` must outlive this object; `bursts` is null for a run without bursts.
  BurstedOptimizer(const Options& options, std::span<double> weight, int dim, const Bursts* bursts);

  /// Step number `step`, from 1. Overwrites the gradient in a burst.
  void step(int step, std::span<double> gradient);

  bool bursts_at(int step) const { return bursts_ != nullptr && bursts_->at(step); }
  const Diagnostics& diagnostics() const { return optimizer_.diagnostics(0).front(); }
  std::span<const double> damping() const { return damping_; }  ///< c of the last step; empty unless TrasMuon
  Optimizer& optimizer() { return optimizer_; }

 private:
  Optimizer optimizer_;
  const Bursts* bursts_;
  std::span<double> momentum_;
  std::span<const double> damping_;
};

/// Computes the mean damping that TrasMuon with these options would apply on another optimizer's trajectory.
class ShadowDamping {
 public:
  ShadowDamping(const TrasMuonOptions& options, int dim, const Bursts* bursts);
  double step(int step, std::span<const double> gradient);

 private:
  std::vector<double> weight_, gradient_;
  BurstedOptimizer bursted_;
};

}  // namespace trasmuon::lab
