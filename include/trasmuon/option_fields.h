// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <limits>
#include <string>
#include <type_traits>

#include "trasmuon/options.h"

// Lists every option field once: name, member, range, description. Validation, set_field,
// describe(), the C ABI and checkpoints read these lists.
namespace trasmuon {

/// An interval; an open end does not contain its value.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;

  bool contains(double x) const {  // false for NaN
    return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high) &&
           x > -std::numeric_limits<double>::infinity() && x < std::numeric_limits<double>::infinity();
  }
};

TRASMUON_API std::string to_string(const Range& range);  ///< "> 0", ">= 0", "in [0, 1)"

constexpr Range positive() { return {.low = 0, .low_open = true}; }
constexpr Range at_least(double low) { return {.low = low}; }
constexpr Range at_least_up_to(double low, double high) { return {.low = low, .high = high}; }
constexpr Range positive_up_to(double high) { return {.low = 0, .high = high, .low_open = true}; }
/// Far below the end of f32, 3e38, also after scaling; its square far below the end of f64.
constexpr Range step_size() { return {.low = 0, .high = 1e20}; }
constexpr Range fraction() { return {.low = 0, .high = 1, .high_open = true}; }  ///< [0, 1)
constexpr Range unit() { return {.low = 0, .high = 1, .low_open = true}; }       ///< (0, 1]
constexpr Range normal() { return {.low = 1e-30}; }  ///< large enough to be a normal f32 number
constexpr Range any_range() { return {}; }

template <class O, class Rule>
concept OptionsOf = std::same_as<std::remove_const_t<O>, Rule>;

/// Visits the fields that Muon, NorMuon and TrasMuon share.
template <class O, class Visitor>
void visit_pipeline_fields(O& o, Visitor&& visit) {
  visit("ns_steps", o.ns_steps, at_least_up_to(0, 100), "T, Newton-Schulz steps; 0 only normalises");
  visit("coefficients", o.coefficients, any_range(),
        "keller, you, polar_express, minimax4, or a list \"a, b, c; a, b, c\"");
  visit("ns_form", o.ns_form, any_range(), "automatic, standard or gram: same result, different cost");
  visit("ns_precision", o.ns_precision, any_range(), "automatic, f32 or bf16; on CUDA also tf32, f16");
  visit("momentum_dtype", o.momentum_dtype, any_range(), "automatic (as computed) or bf16: how M is stored");
}

template <OptionsOf<TrasMuonOptions> O, class Visitor>
void visit_fields(O& o, Visitor&& visit) {
  visit("lr", o.lr, step_size(), "eta; before damping an update has an RMS of rms_scale eta");
  visit("weight_decay", o.weight_decay, at_least(0), "lambda, decoupled: W <- (1 - lr lambda) W once per step");
  visit("beta1", o.beta1, fraction(), "decay of the momentum M");
  visit("beta2", o.beta2, fraction(), "decay of the row second moments v");
  visit("eps", o.eps, normal(), "added to the norm before Newton-Schulz and to v");
  visit("nesterov", o.nesterov, any_range(), "orthogonalize (1 - beta1) G + beta1 M instead of M");
  visit_pipeline_fields(o, visit);
  visit("rms_scale", o.rms_scale, positive_up_to(1e10),
        "factor on the calibrated step; 1 in the paper, 0.2 suits an lr tuned for AdamW");
  visit("clip", o.clip, any_range(), "none, soft or hard: how bursting columns are damped");
  visit("alpha", o.alpha, positive(), "strength of the soft clip");
  visit("c_min", o.c_min, unit(), "smallest damping factor of a column");
  visit("beta_energy", o.beta_energy, fraction(), "decay of the reference energy E_ref");
  visit("beta_clip", o.beta_clip, fraction(), "decay of the damping c_ema");
  visit("trigger", o.trigger, at_least(0), "k, damp columns with E_j / E_ref above it; 0 = always");
  visit("period", o.period, at_least(1), "K, steps between updates of the damping");
  visit("warmup", o.warmup, at_least(0), "T_w, steps before damping starts");
  visit("rho", o.rho, at_least_up_to(0, 1), "share of the long-term average in the damping");
  visit("gamma", o.gamma, step_size(), "weight of a step in that average: lr, eta_hat or a number");
  visit("beta_gamma", o.beta_gamma, fraction(), "decay of the average of eta^ (gamma = eta_hat)");
  visit("gamma_low", o.gamma_low, at_least_up_to(0, 1), "eta^ counts as at least this share of its average");
  visit("gamma_high", o.gamma_high, at_least_up_to(1, 1e10), "eta^ counts as at most this multiple of its average");
  visit("energy_of", o.energy_of, any_range(), "momentum, gradient or direction: whose columns' energies are watched");
  visit("reference", o.reference, any_range(), "columns or history: compare with all columns or with its own past");
  visit("reference_start", o.reference_start, any_range(),
        "corrected, zero or first: start of the reference's average");
  visit("quantile", o.quantile, at_least_up_to(0, 1), "which energy of all columns is the reference; 0.5 = median");
  visit("quantile_rule", o.quantile_rule, any_range(), "interpolated, or nearest: one of the energies");
  visit("gate_first_step", o.gate_first_step, any_range(), "update the damping in step 1 too, whatever the period");
  visit("average_warmup", o.average_warmup, any_range(), "count steps of the warm-up in the long-term average");
  visit("orthogonalize", o.orthogonalize, any_range(), "stage switch");
  visit("row_scale", o.row_scale, any_range(), "stage switch");
  visit("calibrate", o.calibrate, any_range(), "stage switch");
  visit("eps_energy", o.eps_energy, at_least(0),
        "a reference up to this share of the largest energy damps nothing; 0 = off");
  visit("eps_reference", o.eps_reference, at_least(0),
        "added to an energy that is divided by; breaks scale invariance");
  visit("eps_average", o.eps_average, at_least(0), "added to S, a sum of squared learning rates, in C / S");
  visit("average_start", o.average_start, any_range(), "one or zero: the long-term average while S is 0");
  visit("clamp_damping", o.clamp_damping, any_range(), "keep the damping in [c_min, 1]");
  visit("min_damped_dim", o.min_damped_dim, at_least(1), "damp only matrices of this size; thin ones alarm by chance");
  visit("damped_dim", o.damped_dim, any_range(), "smaller or columns: min(m, n) or n must reach it");
  visit("input_eps", o.input_eps, any_range(), "capped, twice or once: how eps is added to the norm");
  visit("row_eps", o.row_eps, any_range(), "inside or outside the root of v");
  visit("eps_calibration", o.eps_calibration, normal(), "added to the norm of O_base in the calibration");
  visit("skip_nonfinite", o.skip_nonfinite, any_range(), "skip the step of a matrix whose gradient has NaN or Inf");
}

template <OptionsOf<NorMuonOptions> O, class Visitor>
void visit_fields(O& o, Visitor&& visit) {
  visit("lr", o.lr, step_size(), "learning rate");
  visit("weight_decay", o.weight_decay, at_least(0), "decoupled");
  visit("beta1", o.beta1, fraction(), "decay of the momentum");
  visit("beta2", o.beta2, fraction(), "decay of the row second moments");
  visit("eps", o.eps, normal(), "added to sqrt(v) and to norms");
  visit("nesterov", o.nesterov, any_range(), "orthogonalize (1 - beta1) G + beta1 M, as the public code does");
  visit_pipeline_fields(o, visit);
  visit("scaling", o.scaling, any_range(), "paper (update RMS = rms_scale lr) or code");
  visit("rms_scale", o.rms_scale, positive_up_to(1e10), "0.2 in the paper, as in TrasMuon's default");
}

template <OptionsOf<MuonOptions> O, class Visitor>
void visit_fields(O& o, Visitor&& visit) {
  visit("lr", o.lr, step_size(), "learning rate");
  visit("weight_decay", o.weight_decay, at_least(0), "decoupled");
  visit("momentum", o.momentum, fraction(), "decay of the momentum");
  visit("nesterov", o.nesterov, any_range(), "orthogonalize (1 - momentum) G + momentum M");
  visit_pipeline_fields(o, visit);
  visit("eps", o.eps, normal(), "added to the norm before Newton-Schulz");
  visit("scaling", o.scaling, any_range(), "original or match_rms_adamw");
}

template <OptionsOf<DionOptions> O, class Visitor>
void visit_fields(O& o, Visitor&& visit) {
  visit("lr", o.lr, step_size(), "learning rate");
  visit("weight_decay", o.weight_decay, at_least(0), "decoupled");
  visit("momentum", o.momentum, fraction(), "mu, share of the applied part that error feedback keeps");
  visit("rank_fraction", o.rank_fraction, unit(), "rank over min(m, n), rounded up");
  visit("seed", o.seed, any_range(), "seed of the Gaussian start of Q");
}

template <OptionsOf<AdamWOptions> O, class Visitor>
void visit_fields(O& o, Visitor&& visit) {
  visit("lr", o.lr, step_size(), "learning rate");
  visit("weight_decay", o.weight_decay, at_least(0), "decoupled");
  visit("beta1", o.beta1, fraction(), "decay of the first moment");
  visit("beta2", o.beta2, fraction(), "decay of the second moment");
  visit("eps", o.eps, normal(), "added to sqrt(v)");
}

}  // namespace trasmuon
