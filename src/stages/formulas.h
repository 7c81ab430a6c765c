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

/// The median of an even number of energies                                                eq:ecur_quantile
TRASMUON_FORMULA double middle(double lower, double upper) { return lower + (upper - lower) / 2; }

/// E_ref <- bE E_ref + (1 - bE) median_j E_j                                               eq:eref_main
TRASMUON_FORMULA double next_reference(const TrustRegionStage& stage, double e_ref, double median) {
  return stage.beta_energy * e_ref + (1 - stage.beta_energy) * median;
}

/// The energy that the column energies of a step are compared with.
struct EnergyReference {
  double value;  ///< E_ref; guard (b): without the bias of its start at zero
  bool dead;     ///< guard (e): there is no energy to compare with
};

TRASMUON_FORMULA double unbiased_reference(const TrustRegionStage& stage, double e_ref, std::int64_t t) {
  return stage.guarded ? e_ref / (1 - pow(stage.beta_energy, static_cast<double>(t))) : e_ref;
}

/// `largest`: the largest energy of the step. The test is relative to it, and so independent of the gradient's scale.
TRASMUON_FORMULA EnergyReference energy_reference(const TrustRegionStage& stage, double value, double largest) {
  return {value, stage.guarded && !(value > stage.eps_energy * largest)};
}

/// r_j = E_j / E_ref                                                                       eq:ratio
TRASMUON_FORMULA double energy_ratio(const TrustRegionStage& stage, const EnergyReference& reference, double energy) {
  if (!stage.guarded) return energy / (reference.value + stage.eps);
  return reference.dead ? energy / (reference.value + stage.eps_energy) : energy / reference.value;
}

/// Returns c_inst of a column with this energy.
TRASMUON_FORMULA double instant_damping(const TrustRegionStage& stage, const EnergyReference& reference,
                                        double energy) {
  if (reference.dead) return 1;
  const double r = energy_ratio(stage, reference, energy);
  if (!(r > stage.trigger)) return 1;                  // eq:trigger_gate
  const double eps = stage.guarded ? 0.0 : stage.eps;  // guard (c): r > 0 here, so the energy is not zero
  const double raw = stage.clip == Clip::soft
                         ? 1 / (1 + stage.alpha * log1p(r))                         // eq:clip_main
                         : sqrt(stage.trigger * reference.value / (energy + eps));  // eq:hard_col_clip
  return fmin(fmax(raw, stage.c_min), 1.0);
}

/// Returns whether columns are damped at all in step t.
TRASMUON_FORMULA bool is_damped(const TrustRegionStage& stage, std::int64_t m, std::int64_t n, std::int64_t t) {
  return stage.clip != Clip::none && (m < n ? m : n) >= stage.min_damped_dim && t > stage.warmup;
}
/// Returns whether c_ema is updated in step t.
TRASMUON_FORMULA bool is_gate_step(const TrustRegionStage& stage, std::int64_t t) { return t % stage.period == 0; }

/// c_ema <- bc c_ema + (1 - bc) c_inst                                                     eq:ema_main
template <class T>
TRASMUON_FORMULA T next_c_ema(const TrustRegionStage& stage, T c_ema, double c_inst) {
  return static_cast<T>(stage.beta_clip * static_cast<double>(c_ema) + (1 - stage.beta_clip) * c_inst);
}

/// c_avg = C / S. Guard (d): no eps beside a sum of squared learning rates.                eq:sf_main
TRASMUON_FORMULA double average_damping(const TrustRegionStage& stage, double c_sum, double gamma_sum) {
  if (!stage.guarded) return c_sum / (gamma_sum + stage.eps);
  return gamma_sum > 0 ? c_sum / gamma_sum : 1.0;
}

/// c = (1 - rho) c_ema + rho c_avg. Guard (d): c stays in [c_min, 1].                      eq:sf_main
template <class T>
TRASMUON_FORMULA T damping(const TrustRegionStage& stage, bool damped, T c_ema, double c_avg) {
  double c = damped ? (1 - stage.rho) * static_cast<double>(c_ema) + stage.rho * c_avg : 1.0;
  if (stage.guarded) c = fmin(fmax(c, stage.c_min), 1.0);
  return static_cast<T>(c);
}

// ---- Update of the weights ---------------------------------------------------------------------------------------

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
