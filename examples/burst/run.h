// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/trasmuon.h>

#include <string>
#include <vector>

#include "problem.h"

namespace burst {

/// One line of the table and one curve of the plot.
struct Method {
  std::string name;
  trasmuon::Options options;
  bool fit_lr = false;  ///< the rule does not fix its update's RMS: lr is fitted to kUpdateRms
};

constexpr double kUpdateRms = 8e-3;
constexpr int kDampingStart = 50;  // steps before damping starts

// Positions in methods().
enum { kAdamW, kMuon, kDion, kNorMuon, kNoClip, kUniform, kClipOnly, kClipSf, kMethodCount };

/// In the order above. kUniform is a control: noclip, with the lr of uniform_control.
std::vector<Method> methods();

/// What one run left behind. Step t is 1-based; index 0 is before the first step.
struct Trace {
  std::vector<double> loss;
  std::vector<double> r_max;  ///< largest column energy over its reference
  std::vector<double> c_hit;  ///< damping of the column that the nearest burst hits
  double mean_c = 1;
  double update_rms = 0;  ///< mean over the steps
  double lr = 0;
  int spikes = 0;
};

Trace run(const Problem& problem, const trasmuon::Options& options, int steps, bool bursts);

/// The options with lr chosen so that the mean update RMS of a run without bursts is kUpdateRms.
trasmuon::Options fit_lr(const Problem& problem, trasmuon::Options options, int steps);

/// noclip with its lr multiplied by the mean c of clip-sf's run: the same mean step, no selection.
trasmuon::Options uniform_control(const Trace& clip_sf);

/// Losses above 1.4 times the median of the 20 before them; consecutive ones count once.
int count_spikes(const std::vector<double>& loss);

/// Linearly interpolated; q in [0, 1].
double quantile(std::vector<double> values, double q);

}  // namespace burst
