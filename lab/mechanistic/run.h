// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "lab/mechanistic/settings.h"
#include "lab/mechanistic/trainer.h"
#include "lab/study/spikes.h"

namespace trasmuon::lab {

struct MechanisticSummary {
  Spikes spikes;
  double initial_loss = 0, final_loss = 0, best_loss = 0;  ///< final_loss: infinity once a loss is not finite
  double final_median = 0;  ///< of the last 20 losses: does not depend on how long ago the last burst was
  double mean_c = 1, min_c = 1, update_rms = 0, lr = 0;
  int steps = 0;             ///< done; fewer than planned if a loss was not finite
  int bound_violations = 0;  ///< steps with ||dW||_F > eta sqrt(mn), calibrated TrasMuon only
  int c_violations = 0;      ///< steps with a c outside [c_min, 1], TrasMuon only
  int misaligned_steps = 0;  ///< steps that go uphill to first order
  double bound_ratio;  ///< bound of the stationarity theorem / what it bounds; NaN where the theorem does not apply
};

double memory(const MechanisticSettings& settings);  ///< bytes that a run needs, about

/// Does one run. Throws Error if the settings contradict each other or the rule.
MechanisticSummary run_mechanistic(const MechanisticSettings& settings, const Options& options, std::uint64_t seed,
                                   const std::function<void(const MechanisticStep&)>& observe = {});

}  // namespace trasmuon::lab
