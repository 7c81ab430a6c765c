// SPDX-License-Identifier: Apache-2.0
#include "cpu/step.h"

#include <algorithm>

#include "stages/formulas.h"

namespace trasmuon::cpu {

namespace {

bool watches(const MuonPipeline& p, EnergyOf matrix) { return p.trust_region && p.trust_region->energy_of == matrix; }

}  // namespace

// Algorithm 1 of the paper, with its equation labels. NorMuon and Muon leave stages out or exchange their constants.
template <class T>
void run_phase(Phase phase, const MuonPipeline& p, const Matrix& x, Intermediates<T>& s, Scratch& scratch) {
  switch (phase) {
    case Phase::momentum:
      // M <- b1 M + (1 - b1) G                                     eq:momentum_main
      // E_j = sum_i M_ij^2, in the same pass                       eq:col_energy
      momentum(x, p.momentum, s, scratch);
      if (watches(p, EnergyOf::gradient)) gradient_energy(x, s, scratch);
      break;

    case Phase::orthogonalize:
      // O = NS(M~; T)                                              eq:prenorm_main, eq:ns_main
      if (p.orthogonalize) orthogonalize(*p.orthogonalize, s, scratch);
      else copy_input(s);
      break;

    case Phase::row_scale:
      // v <- b2 v + (1 - b2) mean_j O^2,  O_base = O / sqrt(v)     eq:rowscale_main, eq:rowscale_main1
      if (p.row_scale) row_scale(x, *p.row_scale, s, scratch);
      else unit_rows(x, p.calibrate.kind == CalibrateStage::Kind::rms, s, scratch);
      if (watches(p, EnergyOf::direction)) direction_energy(x, s, scratch);
      break;

    case Phase::apply:
      // eta^ = eta sqrt(mn) / ||O_base||_F                         eq:tr_cal_main
      calibrate(x, p.calibrate, p.lr, s);
      // E_ref of the median energy, r_j = E_j / E_ref              eq:ecur_quantile, eq:eref_main, eq:ratio
      // c_inst where r_j > k                                       eq:clip_main, eq:trigger_gate
      // c_ema, c_avg, c                                            eq:ema_main, eq:sf_main
      if (p.trust_region) trust_region(x, *p.trust_region, s);
      // W <- (1 - eta lambda) W - eta^ O_base diag(c)              eq:trasmuon_update_main
      apply(x, decay_of(p.lr, p.weight_decay), s, scratch);
      break;
  }
}

namespace {

template <class T>
Intermediates<T> lay_out(const Matrix& x, const MuonPipeline& plan, Arena& arena) {
  // The momentum itself is the input, unless Nesterov looks ahead or it is kept in fewer bits.
  const bool own_input = plan.momentum.nesterov || x.momentum.dtype != x.compute;
  const auto like_weight = [&] {
    return MatrixView{arena.take<T>(x.m * x.n), x.compute, x.weight.rows, x.weight.cols, x.weight.cols};
  };
  Intermediates<T> s{};
  s.direction = like_weight();
  s.input = own_input ? like_weight() : x.momentum;
  s.column_energy = arena.take<double>(x.n);
  s.row_squares = arena.take<double>(x.m);
  s.row_factor = arena.take<T>(x.m);
  if (plan.trust_region) {
    s.c = arena.take<T>(x.n);
    s.energy_copy = arena.take<double>(x.n);
  }
  return s;
}

}  // namespace

template <class T>
Intermediates<T> intermediates(const Matrix& x, const MuonPipeline& plan, Scratch& scratch) {
  return scratch.lay_out([&](Arena& arena) { return lay_out<T>(x, plan, arena); });
}

namespace {

template <class T>
void step(const MuonPipeline& plan, const Matrix& x, Workspace& workspace) {
  Intermediates<T> s = intermediates<T>(x, plan, workspace.step);
  if (!admit<T>(x, plan.skip_nonfinite)) return;
  for (const Phase phase : kPhases) run_phase(phase, plan, x, s, workspace.stage);
}
template <class T>
void step(const DionOptions& options, const Matrix& x, Workspace& workspace) {
  dion<T>(x, options, workspace);
}
template <class T>
void step(const AdamWOptions& options, const Matrix& x, Workspace& workspace) {
  adamw<T>(x, options, workspace.stage);
}

template <class T>
std::size_t intermediates_bytes(const Matrix& x, const MuonPipeline& plan) {
  return bytes_of([&](Arena& arena) { return lay_out<T>(x, plan, arena); });
}

template <class T>
WorkspaceBytes workspace_bytes(const MuonPipeline& plan, const Matrix& x) {
  const std::size_t orthogonalization =
      plan.orthogonalize ? iterate_scratch<T>(x.weight.rows, x.weight.cols, *plan.orthogonalize) : 0;
  const bool own_energies = plan.trust_region && plan.trust_region->energy_of != EnergyOf::momentum;
  const std::size_t energies = own_energies ? energy_scratch<T>(x) : 0;
  return {intermediates_bytes<T>(x, plan),
          std::max({momentum_scratch(x), energies, orthogonalization, row_scale_scratch(x), apply_scratch<T>(x)})};
}
template <class T>
WorkspaceBytes workspace_bytes(const DionOptions&, const Matrix& x) {
  return {intermediates_bytes<T>(x, {}), std::max(dion_scratch<T>(x), apply_scratch<T>(x))};
}
template <class T>
WorkspaceBytes workspace_bytes(const AdamWOptions&, const Matrix& x) {
  return {0, adamw_scratch(x)};
}

}  // namespace

WorkspaceBytes workspace_bytes(const Plan& plan, const Matrix& x) {
  return std::visit(
      [&](const auto& p) {
        return x.compute == DType::f64 ? workspace_bytes<double>(p, x) : workspace_bytes<float>(p, x);
      },
      plan);
}

void step(const Plan& plan, Matrix& x, Workspace& workspace) {
  if (x.diagnostics != nullptr) *x.diagnostics = {.step = *x.step, .skipped = *x.skipped};
  std::visit(
      [&](const auto& p) {
        if (x.compute == DType::f64) step<double>(p, x, workspace);
        else step<float>(p, x, workspace);
      },
      plan);
}

template Intermediates<float> intermediates<float>(const Matrix&, const MuonPipeline&, Scratch&);
template Intermediates<double> intermediates<double>(const Matrix&, const MuonPipeline&, Scratch&);
template void run_phase<float>(Phase, const MuonPipeline&, const Matrix&, Intermediates<float>&, Scratch&);
template void run_phase<double>(Phase, const MuonPipeline&, const Matrix&, Intermediates<double>&, Scratch&);

}  // namespace trasmuon::cpu
