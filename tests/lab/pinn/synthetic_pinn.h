// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/support/synthetic_runs.h"

namespace trasmuon::lab {

/// What the runs show; the numbers of seed s are these times jitter(s), and those of TrasMuon in turn more and less by
/// the noise.
struct PinnNumbers {
  std::size_t seeds = 8;
  double muon = 2e-3, trasmuon = 1e-3;                ///< final errors
  double muon_calm = 1.5e-3, trasmuon_calm = 1.5e-3;  ///< without events
  double muon_peak = 8, trasmuon_peak = 3;
  double noise = 0, step_size = 1e-3, adamw_lr = 0.01;
};
RunSet pinn_runs(const PinnNumbers& numbers = {});

/// Gives every run the tables that the study writes.
void write_pinn_tables(RunSet& runs, const test::TemporaryDirectory& folder);

}  // namespace trasmuon::lab
