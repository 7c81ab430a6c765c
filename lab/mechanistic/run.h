// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/option_fields.h>

#include <cstdint>
#include <functional>

#include "lab/study/spikes.h"

namespace trasmuon::lab {

struct MechanisticSettings {
  int dim = 64;
  double kappa = 1e4;
  bool fix_v = true;
  bool isotropic_b = false;
  int steps = 1005;
  bool bursts = true;
  double burst_factor = 1000;
  int burst_period = 10;
  int burst_columns = 1;
  bool uniform_c = false;
  double update_rms = 0;
  double lr_scale = 1;
  bool trace = true;
};

template <OptionsOf<MechanisticSettings> S, class Visitor>
void visit_settings(S& s, Visitor&& visit) {
  visit("dim", s.dim, at_least_up_to(1, 4096), "d, rows and columns of W");
  visit("kappa", s.kappa, at_least(1), "condition number of W -> A W B");
  visit("fix_v", s.fix_v, any_range(),
        "true: B is diagonal and bursts hit columns; false: both in rotated column bases");
  visit("isotropic_b", s.isotropic_b, any_range(), "B = b I, so that without bursts no column stands out");
  visit("steps", s.steps, at_least(1), "training steps");
  visit("bursts", s.bursts, any_range(), "whether bursts happen");
  visit("burst_factor", s.burst_factor, at_least(1), "a, factor by which a burst multiplies its columns");
  visit("burst_period", s.burst_period, at_least(1), "K_out, steps from burst to burst");
  visit("burst_columns", s.burst_columns, at_least(1), "s, columns hit by one burst");
  visit("uniform_c", s.uniform_c, any_range(), "apply TrasMuon's mean damping to all columns");
  visit("update_rms", s.update_rms, at_least(0),
        "fit lr to this update RMS in a pilot run without bursts; 0: use lr as given");
  visit("lr_scale", s.lr_scale, positive(), "factor on lr");
  visit("trace", s.trace, any_range(), "write metrics.csv");
}

/// State after step `step`; step 0 is the start and has only a loss.
struct MechanisticStep {
  int step = 0;
  double loss = 0;
  bool event = false;
  double r_q95 = 0, r_max = 0, c_min = 1, c_hit = 1, c_mean = 1, update_rms = 0;
  bool bound_violated = false, c_violated = false;  ///< TrasMuon only, see the summary
};

struct MechanisticSummary {
  Spikes spikes;
  double initial_loss = 0, final_loss = 0, best_loss = 0;  ///< final_loss: infinity once a loss is not finite
  double mean_c = 1, min_c = 1, update_rms = 0, lr = 0;
  int steps = 0;             ///< done; fewer than planned if a loss was not finite
  int bound_violations = 0;  ///< steps with ||dW||_F > eta sqrt(mn), calibrated TrasMuon only
  int c_violations = 0;      ///< steps with a c outside [c_min, 1], TrasMuon only
  int misaligned_steps = 0;  ///< steps that go uphill to first order
  double bound_ratio;  ///< bound of the stationarity theorem / what it bounds; NaN where the theorem does not apply
};

/// Throws Error if there are more burst columns than columns, or numbers that would overflow.
void validate(const MechanisticSettings& settings);

/// Throws Error if the settings contradict the rule, or the optimizer refuses its options.
void check(const MechanisticSettings& settings, const Options& options);

double memory(const MechanisticSettings& settings);  ///< bytes that a run needs, about

/// Does one run. Throws Error if the settings contradict each other or the rule.
MechanisticSummary run_mechanistic(const MechanisticSettings& settings, const Options& options, std::uint64_t seed,
                                   const std::function<void(const MechanisticStep&)>& observe = {});

}  // namespace trasmuon::lab
