// SPDX-License-Identifier: Apache-2.0
#include "optim/rule.h"

namespace trasmuon {
namespace {

// M~ = M / (RMS + eps), X = M~ / (||M~||_F + eps) is M / (||M||_F + eps RMS + eps^2). eps^2 breaks scale invariance;
// capped, it does not matter.
InputNorm input_norm(const TrasMuonOptions& o) {
  if (o.input_eps == InputEps::once) return {.eps_absolute = o.eps};
  InputNorm norm{.eps_relative = o.eps, .eps_absolute = o.eps * o.eps};
  if (o.input_eps == InputEps::capped) norm.eps_cap = 1e-8;
  return norm;
}

TrustRegionStage trust_region_of(const TrasMuonOptions& o) {
  return {.clip = o.clip,
          .alpha = o.alpha,
          .c_min = o.c_min,
          .beta_energy = o.beta_energy,
          .beta_clip = o.beta_clip,
          .trigger = o.trigger,
          .period = o.period,
          .warmup = o.warmup,
          .rho = o.rho,
          .gate_first_step = o.gate_first_step,
          .energy_of = o.energy_of,
          .momentum_beta = o.energy_of == EnergyOf::momentum ? o.beta1 : 0,
          .reference = o.reference,
          .reference_start = o.reference_start,
          .quantile = o.quantile,
          .quantile_rule = o.quantile_rule,
          .eps_energy = o.eps_energy,
          .eps_reference = o.eps_reference,
          .gamma_from_step = o.gamma.kind == Gamma::Kind::eta_hat,
          .gamma = o.gamma.kind == Gamma::Kind::number ? o.gamma.value : o.lr,
          .beta_gamma = o.beta_gamma,
          .gamma_low = o.gamma_low,
          .gamma_high = o.gamma_high,
          .average_warmup = o.average_warmup,
          .average_start = o.average_start,
          .eps_average = o.eps_average,
          .clamp_damping = o.clamp_damping,
          .min_damped_dim = o.min_damped_dim,
          .damped_dim = o.damped_dim};
}

}  // namespace

MuonPipeline pipeline_of(const TrasMuonOptions& o) {
  MuonPipeline p;
  p.lr = o.lr;
  p.weight_decay = o.weight_decay;
  p.skip_nonfinite = o.skip_nonfinite;
  p.momentum = {o.beta1, o.nesterov};
  if (o.orthogonalize) {
    p.orthogonalize = {newton_schulz_triples(o.coefficients, o.ns_steps), o.ns_form, o.ns_precision, input_norm(o)};
  }
  if (o.row_scale) {
    const bool inside = o.row_eps == RowEps::inside;
    p.row_scale = {.beta = o.beta2, .eps_inside = inside ? o.eps : 0, .eps_outside = inside ? 0 : o.eps};
  }
  if (o.calibrate) p.calibrate = {CalibrateStage::Kind::rms, o.rms_scale, o.eps_calibration};
  p.trust_region = trust_region_of(o);
  return p;
}

}  // namespace trasmuon
