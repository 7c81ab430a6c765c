// SPDX-License-Identifier: Apache-2.0
#include "cuda/step.h"

#include "cuda/passes/passes.h"

namespace trasmuon::cuda {
namespace {

/// Whether the trust region is enqueued beside the orthogonalization.
bool runs_beside(const MuonPipeline& p) { return p.trust_region && !p.trust_region->needs_direction(); }

// Algorithm 1 of the paper, with its equation labels. Which stages a rule has is decided by the plan: here and in the
// scalars that the kernels read.
void enqueue_phase(Phase phase, const MuonPipeline& p, const MatrixBatch& batch, const StepTables& tables,
                   SideStream& side, cudaStream_t stream) {
  switch (phase) {
    case Phase::momentum:
      // E_j = sum_i M_ij^2                                         eq:col_energy
      // Before M is written: the pass that checks G and finds ||M||_F sees all of the new M.
      enqueue_momentum_read(tables, stream);
      // E_ref of the median energy, r_j = E_j / E_ref              eq:ecur_quantile, eq:eref_main, eq:ratio
      // c_inst where r_j > k                                       eq:clip_main, eq:trigger_gate
      // c_ema, c_avg, c                                            eq:ema_main, eq:sf_main
      // Here, on a stream of its own: c needs the energies alone, and the next pass leaves multiprocessors free.
      if (runs_beside(p)) {
        side.fork(stream, [&](cudaStream_t forked) {
          if (p.trust_region->energy_of == EnergyOf::gradient) enqueue_gradient_energy(tables, forked);
          enqueue_trust_region(tables, forked);
        });
      }
      // M <- b1 M + (1 - b1) G                                     eq:momentum_main
      // M~ = M / ||M||_F, in the same pass                         eq:prenorm_main
      enqueue_momentum_write(tables, stream);
      break;

    case Phase::orthogonalize:
      // O = NS(M~; T)                                              eq:ns_main
      if (batch.iteration() != nullptr) batch.iteration()->enqueue(stream);
      break;

    case Phase::row_scale:
      // v <- b2 v + (1 - b2) mean_j O^2,  O_base = O / sqrt(v)     eq:rowscale_main, eq:rowscale_main1
      // eta^ = eta sqrt(mn) / ||O_base||_F, in the same kernel     eq:tr_cal_main
      // The last product of the iteration has summed the squares already, where it can.
      if (!batch.has_row_squares()) enqueue_row_scale_squares(tables, stream);
      enqueue_row_scale(tables, stream);
      // The same trust region where it needs eta^ or the energies of O_base: after the kernel that computes these.
      if (p.trust_region && p.trust_region->needs_direction()) {
        if (p.trust_region->energy_of == EnergyOf::gradient) enqueue_gradient_energy(tables, stream);
        if (p.trust_region->energy_of == EnergyOf::direction) enqueue_direction_energy(tables, stream);
        enqueue_trust_region(tables, stream);
      }
      break;

    case Phase::apply:
      // W <- (1 - eta lambda) W - eta^ O_base diag(c)              eq:trasmuon_update_main
      if (runs_beside(p)) side.join(stream);
      enqueue_apply(tables, stream);
      break;
  }
}

}  // namespace

void enqueue_step(const GroupPlan& plan, std::span<const StepTables> tables, SideStream& side, cudaStream_t stream) {
  for (std::size_t k = 0; k < tables.size(); ++k) {
    const MatrixBatch& batch = *plan.batches()[k];
    if (const auto* pipeline = std::get_if<MuonPipeline>(&plan.step())) {
      for (const Phase phase : kPhases) enqueue_phase(phase, *pipeline, batch, tables[k], side, stream);
      continue;
    }
    enqueue_admit(tables[k], stream);
    if (batch.dion() != nullptr) {
      batch.dion()->enqueue(tables[k], stream);
      enqueue_apply(tables[k], stream);
    } else {
      enqueue_adamw(tables[k], stream);
    }
  }
  check(cudaGetLastError(), "enqueueing a step");
}

}  // namespace trasmuon::cuda
