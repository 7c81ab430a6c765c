// SPDX-License-Identifier: Apache-2.0
#include "optim/rule.h"

namespace trasmuon {

MuonPipeline pipeline_of(const TrasMuonOptions& o) {
  MuonPipeline p;
  p.lr = o.lr;
  p.weight_decay = o.weight_decay;
  p.skip_nonfinite = !o.literal;
  p.momentum = {o.beta1, o.nesterov};
  if (o.orthogonalize) {
    // M~ = M / (RMS + eps), X = M~ / (||M~||_F + eps) is M / (||M||_F + eps RMS + eps^2).
    // eps^2 breaks scale invariance; in guarded mode it is capped where it would matter.
    p.orthogonalize = {newton_schulz_triples(o.coefficients, o.ns_steps),
                       o.ns_form,
                       o.ns_precision,
                       {.eps_relative = o.eps, .eps_absolute = o.eps * o.eps}};
    if (!o.literal) p.orthogonalize->norm.eps_cap = 1e-8;
  }
  if (o.row_scale) p.row_scale = {.beta = o.beta2, .eps_inside = o.eps};
  if (o.calibrate) p.calibrate = {CalibrateStage::Kind::rms, o.rms_scale, o.eps};
  p.trust_region = {.clip = o.clip,
                    .alpha = o.alpha,
                    .c_min = o.c_min,
                    .beta_energy = o.beta_energy,
                    .beta_clip = o.beta_clip,
                    .trigger = o.trigger,
                    .period = o.period,
                    .warmup = o.warmup,
                    .rho = o.rho,
                    .gamma = o.gamma.value_or(o.lr),
                    .eps = o.eps,
                    .eps_energy = o.eps_energy,
                    .min_damped_dim = o.literal ? 1 : o.min_damped_dim,
                    .guarded = !o.literal};
  return p;
}

}  // namespace trasmuon
