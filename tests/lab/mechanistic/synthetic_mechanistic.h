// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/support/synthetic_runs.h"

namespace trasmuon::lab {

/// What the runs show; the numbers of seed s are these times jitter(s).
struct MechanisticNumbers {
  std::size_t seeds = 8;
  double noclip = 1.2e6, damped = 2e5;  ///< final losses, basis kept
  double noclip_mixed = 1.4e6, damped_mixed = 1.3e6;
  double noclip_calm = 1e6, damped_calm = 1.7e5;  ///< without bursts
  double uniform = 9e5;
  double tuned_noclip = 4e5, tuned_damped = 1e5;  ///< at half the learning rate
  double spikes_noclip = 48, spikes_damped = 30;
};
RunSet mechanistic_runs(const MechanisticNumbers& numbers = {});

/// Gives every run the tables that the study writes.
void write_mechanistic_tables(RunSet& runs, const test::TemporaryDirectory& folder);

}  // namespace trasmuon::lab
