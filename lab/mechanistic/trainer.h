// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lab/mechanistic/damping_control.h"
#include "lab/mechanistic/settings.h"

namespace trasmuon::lab {

/// State after step `step`; step 0 is the start and has only a loss.
struct MechanisticStep {
  int step = 0;
  double loss = 0;
  bool event = false;
  double r_q95 = 0, r_max = 0, c_min = 1, c_hit = 1, c_mean = 1, update_rms = 0;
  bool bound_violated = false, c_violated = false;  ///< TrasMuon only, see the summary
};

/// Does the steps of a run: the optimizer under bursts, its learning rate's schedule, and the control of its damping.
class Trainer {
 public:
  /// `weight` and `bursts` must outlive this object. The columns of the placebo come from the seed.
  Trainer(const MechanisticSettings& settings, const Options& options, const Bursts& bursts, std::span<double> weight,
          std::uint64_t seed);

  MechanisticStep step(int step, std::vector<double>& gradient);  ///< the loss is left to the caller

 private:
  double lr_at(int step) const;
  double rescale_columns(std::span<const double> before, std::span<const double> c);

  const MechanisticSettings settings_;
  const Bursts& bursts_;
  double lr_;
  std::span<double> weight_;
  std::optional<TrasMuonOptions> trasmuon_;
  std::optional<BurstedOptimizer> bursted_;
  std::optional<ControlledDamping> control_;
};

}  // namespace trasmuon::lab
