// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/support/synthetic_runs.h"

namespace trasmuon::lab {

/// What the runs show; the numbers of seed s are these times jitter(s).
struct LanguageNumbers {
  std::size_t seeds = 8;
  double muon_steps = 140, trasmuon_steps = 80, adamw_steps = 190;  ///< to the target loss, with warm-up
  double muon = 3.2, trasmuon = 3.1;                                ///< final validation losses at the shared rate
  double muon_tuned = 3.0, trasmuon_tuned = 3.0;                    ///< at the best rates
  double trasmuon_nesterov = 3.0;                                   ///< with Nesterov momentum, at its best rate
  double four_steps = 3.1, five_steps = 3.1;                        ///< of minimax4, of keller
  bool adamw_reaches = true;
};
RunSet language_runs(const LanguageNumbers& numbers = {});

/// Gives every run the tables that the study writes.
void write_language_tables(RunSet& runs, const test::TemporaryDirectory& folder);

}  // namespace trasmuon::lab
