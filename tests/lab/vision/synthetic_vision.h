// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/support/synthetic_runs.h"

namespace trasmuon::lab {

/// What the runs show: test errors of the methods. Those of seed s are these times jitter(s), and those of TrasMuon in
/// turn more and less by the noise.
struct VisionNumbers {
  std::size_t seeds = 8;
  double trasmuon = 0.40, normuon = 0.42, muon = 0.44, adamw = 0.6, noclip = 0.43;
  double calm = 0.35;             ///< of all methods without bursts
  double permuted = 0.40;         ///< the placebo
  double trasmuon_at_best = 0.3;  ///< in the sweep, where Muon's is 0.3 too
  double matched = 0.40;          ///< TrasMuon's with updates of one RMS; the others' are as at the shared rate
  double noise = 0;
  int burst_period = 10;
  std::string data = "cifar100";
};
RunSet vision_runs(const VisionNumbers& numbers = {});

/// Gives every run the tables that the study writes.
void write_vision_tables(RunSet& runs, const test::TemporaryDirectory& folder);

}  // namespace trasmuon::lab
