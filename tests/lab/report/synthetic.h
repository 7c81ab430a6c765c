// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "checkpoint/temporary_directory.h"
#include "lab/records/run_set.h"

namespace trasmuon::lab {

using SummaryOfSeed = std::function<Json(std::uint64_t seed)>;

/// A cell with one finished run per seed; `settings` holds the axes too.
Cell make_cell(const std::string& part, const std::string& method, const Json& axes, const Json& settings,
               std::size_t seeds, const SummaryOfSeed& summary);

/// What a mechanistic run set is made of; the numbers of seed s are these times 1 + s/100.
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

struct PinnNumbers {
  std::size_t seeds = 8;
  double muon = 2e-3, trasmuon = 1e-3;                ///< final errors
  double muon_calm = 1.5e-3, trasmuon_calm = 1.5e-3;  ///< without events
  double muon_peak = 8, trasmuon_peak = 3;
};
RunSet pinn_runs(const PinnNumbers& numbers = {});

/// Gives every run of the set a folder with tables as its study writes them.
void write_tables(RunSet& runs, const test::TemporaryDirectory& folder);

}  // namespace trasmuon::lab
