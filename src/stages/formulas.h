// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "stages/elementwise.h"
#include "stages/plan.h"

// The arithmetic of every stage beyond single elements, written once and compiled for host and device. Equation labels
// are the paper's.
namespace trasmuon {

// ---- Input of Newton-Schulz --------------------------------------------------------------------------------------

/// Returns the factor that gives the input the norm `target`: the paper's division by the RMS and the division by the
/// Frobenius norm that Newton-Schulz needs, in one.                                        eq:prenorm_main
/// Returns 0 when the input counts as zero: rounding would keep a decaying momentum from ever reaching it.
template <class T>
TRASMUON_FORMULA double input_scale(const InputNorm& eps, double norm, double elements, double target = 1) {
  const double size = sqrt(elements);
  if (norm <= size * kSmallestRms<T>) return 0;
  const double added = fmin(eps.eps_absolute, eps.eps_cap * norm);
  return target / (norm * (1 + eps.eps_relative / size) + added);
}

/// The exponent of the power of two by which a matrix is divided before it is squared: 0, unless squares of its largest
/// entry would come near the ends of f64. The division is exact.
TRASMUON_FORMULA int exponent_to_remove(double largest) {
  const bool keep = !(largest > 0) || (largest >= 1e-100 && largest <= 1e100) || largest > kLargestNumber<double>;
  return keep ? 0 : ilogb(largest);
}

// ---- Row scaling and calibration ---------------------------------------------------------------------------------

/// v <- b2 v + (1 - b2) mean_j O_ij^2                                                      eq:rowscale_main
template <class T>
TRASMUON_FORMULA T next_row_moment(const RowScaleStage& stage, T v, double row_squares, std::int64_t n) {
  const double mean = row_squares / static_cast<double>(n);
  return static_cast<T>(stage.beta * static_cast<double>(v) + (1 - stage.beta) * mean);
}

/// Returns the factor of a row: O_base = O / sqrt(v + eps)                                 eq:rowscale_main1
template <class T>
TRASMUON_FORMULA T row_factor(const RowScaleStage& stage, T v) {
  const double root = sqrt(static_cast<double>(v) + stage.eps_inside) + stage.eps_outside;
  return root > 0 ? static_cast<T>(1 / root) : T(0);
}

/// Returns the row's share of ||O_base||_F^2.
template <class T>
TRASMUON_FORMULA double base_squares(double row_squares, T factor) {
  return row_squares * static_cast<double>(factor) * static_cast<double>(factor);
}

/// eta^ = eta sqrt(mn) / ||O_base||_F, or another kind of calibration                      eq:tr_cal_main
TRASMUON_FORMULA double calibrated_step(const CalibrateStage& stage, double lr, std::int64_t rows, std::int64_t cols,
                                        double direction_squares, double base) {
  using Kind = CalibrateStage::Kind;
  const double m = static_cast<double>(rows), n = static_cast<double>(cols);
  const double base_norm = sqrt(base), aspect = sqrt(fmax(1.0, m / n));
  switch (stage.kind) {
    case Kind::none: break;
    case Kind::rms: return lr * stage.scale * sqrt(m * n) / (base_norm + stage.eps);
    case Kind::keep_norm: return lr * aspect * sqrt(direction_squares) / (base_norm + stage.eps);
    case Kind::original: return lr * aspect;
    case Kind::match_rms_adamw: return lr * 0.2 * sqrt(fmax(m, n));
  }
  return lr;
}

// ---- Trust region ------------------------------------------------------------------------------------------------

/// Where the reference stands among the energies in ascending order: `share` of the way from rank `low` (0 = smallest)
/// to the next.
struct QuantilePosition {
  std::int64_t low;
  double share;
};

TRASMUON_FORMULA QuantilePosition quantile_position(const TrustRegionStage& stage, std::int64_t n) {
  const double count = static_cast<double>(n);
  if (stage.quantile_rule == QuantileRule::nearest) {
    const double rank = fmin(fmax(floor(stage.quantile * count + 0.5), 1.0), count);
    return {static_cast<std::int64_t>(rank) - 1, 0};
  }
  const double position = stage.quantile * (count - 1), low = floor(position);
  return {static_cast<std::int64_t>(low), position - low};
}

/// E_cur, the quantile of the energies                                                     eq:ecur_quantile
TRASMUON_FORMULA double between(double lower, double upper, double share) { return lower + (upper - lower) * share; }

/// E_ref <- bE E_ref + (1 - bE) E_cur                                                      eq:eref_main
TRASMUON_FORMULA double next_reference(const TrustRegionStage& stage, double e_ref, double e_cur, std::int64_t t) {
  if (stage.reference_start == ReferenceStart::first && t == 1) return e_cur;
  return stage.beta_energy * e_ref + (1 - stage.beta_energy) * e_cur;
}

/// The energy that the energy of a column is compared with.
struct EnergyReference {
  double value;  ///< E_ref; guard (b): without the bias of its start at zero
  bool dead;     ///< guard (e): there is no energy to compare with
};

/// What an average after t steps is divided by. Guard (b): the bias of its start at zero.
TRASMUON_FORMULA double reference_bias(const TrustRegionStage& stage, std::int64_t t) {
  if (stage.reference_start != ReferenceStart::corrected) return 1;
  return 1 - pow(stage.beta_energy, static_cast<double>(t));
}

/// `largest`: the largest energy of the step. The test is relative to it, and so independent of the gradient's scale.
TRASMUON_FORMULA EnergyReference energy_reference(const TrustRegionStage& stage, double value, double largest) {
  return {value, stage.eps_energy > 0 && !(value > stage.eps_energy * largest)};
}

/// With `reference = history`: what the energies of step t are divided by before they are compared and averaged. The
/// momentum starts at zero, so its energy grows in the first steps although no gradient does.
TRASMUON_FORMULA double history_bias(const TrustRegionStage& stage, std::int64_t t) {
  if (stage.reference_start != ReferenceStart::corrected) return 1;
  const double bias = 1 - pow(stage.momentum_beta, static_cast<double>(t));
  return bias * bias;
}

/// The reference of a column with this average of its energies before step t; `bias`: reference_bias of step t - 1. A
/// column without a history is not damped, whatever the guards.
TRASMUON_FORMULA EnergyReference history_reference(const TrustRegionStage& stage, double average, double bias,
                                                   double largest) {
  const double value = bias > 0 ? average / bias : 0;
  return {value, !(value > stage.eps_energy * largest)};
}

/// The average of a column's energies after step t; `bias`: reference_bias of step t. A column without a history starts
/// one with this energy: next to the zeros of the past, it would look like a burst for a long time.
TRASMUON_FORMULA double next_history(const TrustRegionStage& stage, const EnergyReference& before, double average,
                                     double energy, double bias) {
  if (before.dead && stage.reference_start != ReferenceStart::zero) return energy * bias;
  return stage.beta_energy * average + (1 - stage.beta_energy) * energy;
}

/// r_j = E_j / E_ref                                                                       eq:ratio
TRASMUON_FORMULA double energy_ratio(const TrustRegionStage& stage, const EnergyReference& reference, double energy) {
  if (reference.dead && stage.reference == Reference::history) return 1;
  return energy / (reference.value + (reference.dead ? stage.eps_energy : stage.eps_reference));
}

/// Returns c_inst of a column with this energy.
TRASMUON_FORMULA double instant_damping(const TrustRegionStage& stage, const EnergyReference& reference,
                                        double energy) {
  if (reference.dead) return 1;
  const double r = energy_ratio(stage, reference, energy);
  if (!(r > stage.trigger)) return 1;  // eq:trigger_gate
  // Guard (c): no eps. r > 0 here, so the energy is not zero.
  const double raw = stage.clip == Clip::soft
                         ? 1 / (1 + stage.alpha * log1p(r))                                         // eq:clip_main
                         : sqrt(stage.trigger * reference.value / (energy + stage.eps_reference));  // eq:hard_col_clip
  return fmin(fmax(raw, stage.c_min), 1.0);
}

/// Returns whether columns are damped at all in step t.
TRASMUON_FORMULA bool is_damped(const TrustRegionStage& stage, std::int64_t m, std::int64_t n, std::int64_t t) {
  const std::int64_t size = stage.damped_dim == DampedDim::smaller && m < n ? m : n;
  return stage.clip != Clip::none && size >= stage.min_damped_dim && t > stage.warmup;
}
/// Returns whether c_ema is updated in step t.
TRASMUON_FORMULA bool is_gate_step(const TrustRegionStage& stage, std::int64_t t) {
  return t % stage.period == 0 || (stage.gate_first_step && t == 1);
}

/// c_ema <- bc c_ema + (1 - bc) c_inst                                                     eq:ema_main
template <class T>
TRASMUON_FORMULA T next_c_ema(const TrustRegionStage& stage, T c_ema, double c_inst) {
  return static_cast<T>(stage.beta_clip * static_cast<double>(c_ema) + (1 - stage.beta_clip) * c_inst);
}

/// The average of eta^, if gamma is taken from it.
TRASMUON_FORMULA double next_eta_average(const TrustRegionStage& stage, double average, double eta_hat,
                                         std::int64_t t) {
  return t == 1 ? eta_hat : stage.beta_gamma * average + (1 - stage.beta_gamma) * eta_hat;
}

/// gamma^2, the weight of step t in c_avg; eta^ and its average count only if gamma is taken from them.   eq:sf_main
TRASMUON_FORMULA double step_weight(const TrustRegionStage& stage, double eta_hat, double eta_average, std::int64_t t) {
  if (!stage.average_warmup && t <= stage.warmup) return 0;
  if (!stage.gamma_from_step) return stage.gamma * stage.gamma;
  const double gamma = fmin(fmax(eta_hat, stage.gamma_low * eta_average), stage.gamma_high * eta_average);
  return gamma * gamma;
}

/// c_avg = C / S. Guard (d): no eps beside a sum of squared learning rates.                eq:sf_main
TRASMUON_FORMULA double average_damping(const TrustRegionStage& stage, double c_sum, double gamma_sum) {
  if (!(gamma_sum > 0)) return stage.average_start == AverageStart::one ? 1.0 : 0.0;
  return c_sum / (gamma_sum + stage.eps_average);
}

/// c = (1 - rho) c_ema + rho c_avg. Guard (d): c stays in [c_min, 1].                      eq:sf_main
template <class T>
TRASMUON_FORMULA T damping(const TrustRegionStage& stage, bool damped, T c_ema, double c_avg) {
  double c = damped ? (1 - stage.rho) * static_cast<double>(c_ema) + stage.rho * c_avg : 1.0;
  if (stage.clamp_damping) c = fmin(fmax(c, stage.c_min), 1.0);
  return static_cast<T>(c);
}

// ---- Update of the weights ---------------------------------------------------------------------------------------

/// Returns what W is multiplied by, under every rule.                                      eq:trasmuon_update_main
TRASMUON_FORMULA double decay_of(double lr, double weight_decay) { return 1 - lr * weight_decay; }

/// Returns eta^ times the factor of a row, limited to the range of T. eta^ of a zero direction may be too large for T,
/// and infinity times zero would be NaN.
template <class T>
TRASMUON_FORMULA T row_step(double eta_hat, T factor) {
  return static_cast<T>(fmin(eta_hat * static_cast<double>(factor), kLargestNumber<T>));
}

// ---- The other rules ---------------------------------------------------------------------------------------------

TRASMUON_FORMULA double dion_step(double lr, std::int64_t m, std::int64_t n) {
  return lr * sqrt(static_cast<double>(m) / static_cast<double>(n));
}

/// The factor of P R^T in M <- B - (1 - mu) P R^T.
TRASMUON_FORMULA double dion_feedback(double mu) { return mu - 1; }

/// The size of the rounding errors in B q. They come from the terms of the sums, so they do not shrink with B q when
/// the terms cancel.
template <class T>
TRASMUON_FORMULA double dion_error(double b_norm, double q_norm) {
  return kEpsilon<T> * b_norm * q_norm;
}

/// The same for a row of (B Q)^T that was scaled from `norm` to unit length.
template <class T>
TRASMUON_FORMULA double unit_row_error(double norm, double error) {
  return fmax(kEpsilon<T>, norm > 0 ? error / norm : 0);
}

/// Whether what the projections on earlier rows have left of a unit row may be rounding errors alone: then the row
/// depends on those. `own`: unit_row_error. `inherited`: squared error of the projections, the sum over the earlier
/// rows of (component * error)^2, where the error of a row of the basis is its own divided by the rest it had.
/// docs/algorithm.md has the margins.
template <class T>
TRASMUON_FORMULA bool is_dependent(double rest, double own, double inherited, std::int64_t cols) {
  return !(rest > fmax(10 * sqrt(static_cast<double>(cols)) * kEpsilon<T>, 5 * sqrt(own * own + inherited)));
}

template <class T>
TRASMUON_FORMULA AdamWScalars<T> adamw_scalars(const AdamWOptions& o, std::int64_t t) {
  const double correction1 = 1 - pow(o.beta1, static_cast<double>(t));
  const double correction2 = 1 - pow(o.beta2, static_cast<double>(t));
  return {static_cast<T>(o.beta1),     static_cast<T>(1 - o.beta1),     static_cast<T>(o.beta2),
          static_cast<T>(1 - o.beta2), static_cast<T>(1 / correction1), static_cast<T>(sqrt(1 / correction2)),
          static_cast<T>(o.eps)};
}

}  // namespace trasmuon
