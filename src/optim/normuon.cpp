// SPDX-License-Identifier: Apache-2.0
#include "optim/rule.h"

namespace trasmuon {

// Li et al., NorMuon (arXiv 2510.05491), and its public code.
MuonPipeline pipeline_of(const NorMuonOptions& o) {
  using Kind = CalibrateStage::Kind;
  MuonPipeline p;
  p.lr = o.lr;
  p.weight_decay = o.weight_decay;
  p.momentum = {o.beta1, o.nesterov};
  p.orthogonalize = {newton_schulz_triples(o.coefficients, o.ns_steps),
                     o.ns_form,
                     o.ns_precision,
                     {.eps_absolute = o.eps, .eps_cap = kEpsCap}};
  p.row_scale = {.beta = o.beta2, .eps_outside = o.eps};
  p.calibrate = {o.scaling == NorMuonScaling::paper ? Kind::rms : Kind::keep_norm, o.rms_scale, o.eps};
  return p;
}

}  // namespace trasmuon
