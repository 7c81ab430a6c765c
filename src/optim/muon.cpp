// SPDX-License-Identifier: Apache-2.0
#include "optim/rule.h"

namespace trasmuon {

// Keller Jordan, Muon (2024); match_rms_adamw is Moonshot's scaling (arXiv 2502.16982).
MuonPipeline pipeline_of(const MuonOptions& o) {
  using Kind = CalibrateStage::Kind;
  MuonPipeline p;
  p.lr = o.lr;
  p.weight_decay = o.weight_decay;
  p.momentum = {o.momentum, o.nesterov};
  p.orthogonalize = {newton_schulz_triples(o.coefficients, o.ns_steps),
                     o.ns_form,
                     o.ns_precision,
                     {.eps_absolute = o.eps, .eps_cap = kEpsCap}};
  p.calibrate = {o.scaling == MuonScaling::original ? Kind::original : Kind::match_rms_adamw};
  return p;
}

}  // namespace trasmuon
