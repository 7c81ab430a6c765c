// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/support/synthetic_runs.h"

namespace trasmuon::lab {

/// Spikes and losses of a row.
struct SyntheticRow {
  double spikes, loss;
};

/// What the runs show; the numbers of seed s are these times jitter(s).
struct MechanisticNumbers {
  std::size_t seeds = 8;
  SyntheticRow noclip = {48, 1.2e6}, damped = {30, 2e5};  ///< V = I, bursts on columns
  SyntheticRow noclip_random = {80, 1.5e6}, damped_random = {78, 1.45e6};
  SyntheticRow noclip_mixed = {80, 1.4e6}, damped_mixed = {75, 1.3e6};
  SyntheticRow noclip_calm = {3, 1e6}, damped_calm = {1, 1.7e5};  ///< without bursts
  SyntheticRow mean = {49, 9e5}, permuted = {54, 1e6}, blind = {44, 1e6};
  SyntheticRow gate_meets = {30, 2e5}, gate_meets_none = {46, 1.1e6};
  SyntheticRow tuned_noclip = {20, 4e5}, tuned_damped = {4, 1e5};  ///< at half the learning rate
  SyntheticRow decayed_noclip = {40, 3e5}, decayed_damped = {10, 1e5};
  SyntheticRow noclip_8_steps = {36, 8e5}, damped_8_steps = {3, 1e5};
  std::vector<std::uint64_t> tuning_seeds = {1000, 1001, 1002};
};
RunSet mechanistic_runs(const MechanisticNumbers& numbers = {});

/// Gives every run the tables that the study writes.
void write_mechanistic_tables(RunSet& runs, const test::TemporaryDirectory& folder);

}  // namespace trasmuon::lab
