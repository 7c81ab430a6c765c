// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

#include "trasmuon/options.h"

// A step as data: which stages it has and their numbers. The optimizer makes a plan from options, a backend carries it
// out. What each stage computes is in formulas.h and docs/algorithm.md.
namespace trasmuon {

/// M <- beta M + (1 - beta) G; the column energies of M; the norm of the next stage's input.
struct MomentumStage {
  double beta = 0.95;
  bool nesterov = false;
};

/// What is added to the norm before the input of Newton-Schulz is divided by it: eps_relative RMS + eps_absolute, the
/// latter never more than eps_cap of the norm.
struct InputNorm {
  double eps_relative = 0;
  double eps_absolute = 0;
  double eps_cap = std::numeric_limits<double>::infinity();
};

/// O <- NS(input).
struct OrthogonalizeStage {
  std::vector<NewtonSchulzTriple> triples;  ///< one per step
  NewtonSchulzForm form = NewtonSchulzForm::automatic;
  NewtonSchulzPrecision precision = NewtonSchulzPrecision::automatic;
  InputNorm norm;
};

/// v <- beta v + (1 - beta) mean_j O^2; O_base = O / (sqrt(v + eps_inside) + eps_outside).
struct RowScaleStage {
  double beta = 0.95;
  double eps_inside = 0;
  double eps_outside = 0;
};

/// The step size eta^, from the learning rate eta.
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
  bool gate_first_step = false;

  EnergyOf energy_of = EnergyOf::momentum;
  double momentum_beta = 0;  ///< decay of the momentum if the energies are of the momentum, else 0
  Reference reference = Reference::columns;
  ReferenceStart reference_start = ReferenceStart::corrected;
  double quantile = 0.5;
  QuantileRule quantile_rule = QuantileRule::interpolated;
  double eps_energy = 1e-30;
  double eps_reference = 0;

  bool gamma_from_step = false;  ///< gamma is eta^, limited by its average; else the number `gamma`
  double gamma = 0;
  double beta_gamma = 0.9;
  double gamma_low = 0.3;
  double gamma_high = 3;
  bool average_warmup = true;
  AverageStart average_start = AverageStart::one;
  double eps_average = 0;
  bool clamp_damping = true;

  std::int64_t min_damped_dim = 1;
  DampedDim damped_dim = DampedDim::smaller;

  /// Whether c depends on the direction, and so cannot be computed before it.
  bool needs_direction() const { return energy_of == EnergyOf::direction || gamma_from_step; }
};

/// Muon, NorMuon and TrasMuon: one pipeline with stages on or off.
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

/// The order of a whole step. A step over ranks has phases of its own: cut_step.h.
enum class Phase : std::uint8_t { momentum, orthogonalize, row_scale, apply };
inline constexpr std::array kPhases{Phase::momentum, Phase::orthogonalize, Phase::row_scale, Phase::apply};

/// The step of one rule.
using Plan = std::variant<MuonPipeline, DionOptions, AdamWOptions>;

}  // namespace trasmuon
