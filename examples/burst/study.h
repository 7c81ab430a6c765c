// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "run.h"

namespace burst {

/// All runs: every method on every seed's problem, with and without bursts.
struct Study {
  int seeds = 0, steps = 0;
  std::vector<Method> methods;
  std::vector<std::vector<Trace>> traces[2];  ///< [bursts][method][seed]

  /// One number per seed, for example Trace::mean_c.
  template <class Value>
  std::vector<double> over_seeds(bool bursts, int method, Value value) const {
    std::vector<double> values;
    for (const Trace& trace : traces[bursts][method]) {
      values.push_back(value(trace));
    }
    return values;
  }

  /// One number per seed and burst step t, from the first burst after damping has
  /// started; runs without bursts give the same steps.
  template <class Value>
  std::vector<double> over_bursts(bool bursts, int method, Value value) const {
    std::vector<double> values;
    for (const Trace& trace : traces[bursts][method]) {
      for (int t = kDampingStart + kBurstPeriod; t + kBurstPeriod / 2 <= steps; t += kBurstPeriod) {
        values.push_back(value(trace, t));
      }
    }
    return values;
  }
};

/// Runs it on as many threads as the machine has; reports progress on stderr.
Study run_study(int seeds, int steps);

}  // namespace burst
