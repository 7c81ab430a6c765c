// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "trasmuon/options.h"

// The stages of a step and their settings. What each computes is in docs/algorithm.md.
namespace trasmuon {

/// M <- beta M + (1 - beta) G, column energies of M, norm of the input of the next stage.
struct MomentumStage {
  double beta = 0.95;
  bool nesterov = false;
};

/// O <- NS(M / (||M||_F (1 + eps_relative / sqrt(mn)) + min(eps_absolute, eps_cap ||M||_F))).
struct OrthogonalizeStage {
  std::vector<NewtonSchulzTriple> triples;  ///< one per step
  NewtonSchulzForm form = NewtonSchulzForm::automatic;
  NewtonSchulzPrecision precision = NewtonSchulzPrecision::automatic;
  double eps_relative = 0;
  double eps_absolute = 0;
  double eps_cap = std::numeric_limits<double>::infinity();
};

/// v <- beta v + (1 - beta) mean_j O^2; O_base = O / (sqrt(v + eps_inside) + eps_outside).
struct RowScaleStage {
  double beta = 0.95;
  double eps_inside = 0;
  double eps_outside = 0;
};

/// eta^ from eta.
struct CalibrateStage {
  enum class Kind : std::uint8_t {
    none,             ///< eta
    rms,              ///< eta scale sqrt(mn) / (||O_base||_F + eps)
    keep_norm,        ///< eta sqrt(max(1, m/n)) ||O||_F / (||O_base||_F + eps)
    original,         ///< eta sqrt(max(1, m/n))
    match_rms_adamw,  ///< eta 0.2 sqrt(max(m, n))
  };
  Kind kind = Kind::none;
  double scale = 1;
  double eps = 0;
};

/// The damping c of the columns.
struct TrustRegionStage {
  Clip clip = Clip::soft;
  double alpha = 1;
  double c_min = 0.1;
  double beta_energy = 0.95;
  double beta_clip = 0.5;
  double trigger = 2;
  std::int64_t period = 1;
  std::int64_t warmup = 0;
  double rho = 0.1;
  double gamma = 0;
  double eps = 1e-8;
  double eps_energy = 1e-30;
  std::int64_t min_damped_dim = 1;
  bool guarded = true;
};

/// Muon, NorMuon and TrasMuon: the same pipeline with stages on or off.
struct MuonPipeline {
  double lr = 0;
  double weight_decay = 0;
  bool skip_nonfinite = true;
  MomentumStage momentum;
  std::optional<OrthogonalizeStage> orthogonalize;
  std::optional<RowScaleStage> row_scale;
  CalibrateStage calibrate;
  std::optional<TrustRegionStage> trust_region;
};

}  // namespace trasmuon
