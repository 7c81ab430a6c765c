// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "lab/records/json.h"
#include "lab/training/settings.h"

namespace trasmuon::lab {

/// What a training run measures about its own speed. Times differ from run to run; all other numbers do not.
struct TrainingTimes {
  double seconds = 0;                                  ///< of the steps, without evaluations and checkpoints
  double steps = 0;                                    ///< done in this time
  double measured_seconds = 0, optimizer_seconds = 0;  ///< of the steps in which the optimizer's share was measured
};

struct StepCost {
  double items = 0, flops = 0;  ///< of one step
};

/// Returns the numbers of a run from the tables in its folder and its times. A run whose loss was not finite has
/// infinite final_... numbers.
Json training_summary(const std::filesystem::path& folder, const TrainingSettings& settings, const TrainingTimes& times,
                      const StepCost& cost, double lr);

}  // namespace trasmuon::lab
