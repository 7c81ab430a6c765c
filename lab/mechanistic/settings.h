// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lab/study/settings.h"

namespace trasmuon::lab {

struct MechanisticSettings {
  int dim = 64;
  double kappa = 1e4;
  std::string b_basis = "identity";
  bool isotropic_b = false;
  int steps = 1005;
  bool bursts = true;
  double burst_factor = 1000;
  int burst_period = 10;
  int burst_phase = 0;
  int burst_columns = 1;
  std::string burst_basis = "columns";
  std::string damping = "columns";
  double update_rms = 0;
  double lr_scale = 1;
  double lr_end = 1;
  bool trace = true;
};

template <OptionsOf<MechanisticSettings> S, class Visitor>
void visit_settings(S& s, Visitor&& visit) {
  visit("dim", s.dim, at_least_up_to(1, 4096), "d, rows and columns of W");
  visit("kappa", s.kappa, at_least(1), "condition number of W -> A W B");
  visit("b_basis", s.b_basis, one_of({"identity", "random"}), "V in B = V S V^T: the identity, or a Haar rotation");
  visit("isotropic_b", s.isotropic_b, any_range(), "B = b I, so that without bursts no column stands out");
  visit("steps", s.steps, at_least(1), "training steps");
  visit("bursts", s.bursts, any_range(), "whether bursts happen");
  visit("burst_factor", s.burst_factor, at_least(1), "a, factor by which a burst multiplies its columns");
  visit("burst_period", s.burst_period, at_least(1), "K_out, steps from burst to burst");
  visit("burst_phase", s.burst_phase, at_least(0), "bursts fall on steps with this remainder by burst_period");
  visit("burst_columns", s.burst_columns, at_least(1), "s, columns hit by one burst");
  visit("burst_basis", s.burst_basis, one_of({"columns", "mixed"}),
        "bursts hit columns of W, or directions of a Haar-rotated column basis");
  visit("damping", s.damping, one_of({"columns", "mean", "permuted", "blind"}),
        "TrasMuon's c as computed, its mean on all columns, in other columns, or as if there were no bursts");
  visit("update_rms", s.update_rms, at_least(0),
        "fit lr to this update RMS in a pilot run without bursts; 0: use lr as given");
  visit("lr_scale", s.lr_scale, positive(), "factor on lr");
  visit("lr_end", s.lr_end, at_least_up_to(0, 1), "factor on lr in the last step, reached linearly from 1");
  visit("trace", s.trace, any_range(), "write metrics.csv");
}

/// Throws Error if there are more burst columns than columns, a phase beyond the period, or numbers that would
/// overflow.
void validate(const MechanisticSettings& settings);

/// Throws Error if the settings contradict the rule, or the optimizer refuses its options.
void check(const MechanisticSettings& settings, const Options& options);

}  // namespace trasmuon::lab
