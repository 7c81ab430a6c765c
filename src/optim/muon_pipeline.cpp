// SPDX-License-Identifier: Apache-2.0
#include "optim/rule.h"

namespace trasmuon {

// Algorithm 1 of the paper. Equation labels are the paper's; NorMuon and Muon leave
// stages out or exchange their constants.
void step(const MuonPipeline& p, Stages& stages, std::span<Matrix> batch) {
  stages.begin(batch, p);
  stages.admit(batch, p.skip_nonfinite);

  // M <- b1 M + (1 - b1) G                                  eq:momentum_main
  // E_j = sum_i M_ij^2, in the same pass                    eq:col_energy
  stages.momentum(batch, p.momentum);

  // O = NS(M~; T)                                           eq:prenorm_main, eq:ns_main
  if (p.orthogonalize) stages.orthogonalize(batch, *p.orthogonalize);
  else stages.keep_momentum(batch);

  // v <- b2 v + (1 - b2) mean_j O^2,  O_base = O / sqrt(v)  eq:rowscale_main
  if (p.row_scale) stages.row_scale(batch, *p.row_scale);
  else stages.keep_rows(batch, p.calibrate.kind == CalibrateStage::Kind::rms);

  // eta^ = eta sqrt(mn) / ||O_base||_F                      eq:tr_cal_main
  stages.calibrate(batch, p.calibrate, p.lr);

  // E_ref, r_j, c_ema, c_avg, c                             eq:eref_main, eq:clip_main, eq:ema_main, eq:sf_main
  if (p.trust_region) stages.trust_region(batch, *p.trust_region);

  // W <- (1 - eta lambda) W - eta^ O_base diag(c)           eq:trasmuon_update_main
  stages.apply(batch, 1 - p.lr * p.weight_decay);
}

}  // namespace trasmuon
