// SPDX-License-Identifier: Apache-2.0
#include "cpu/cut_step.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "cpu/cut_dion.h"
#include "cpu/cut_rows.h"
#include "cpu/row_chunks.h"
#include "stages/formulas.h"
#include "stages/measure.h"

namespace trasmuon::cpu {
namespace {

Verdict verdict_of(const CutMatrix& x, const double* sums) { return trasmuon::verdict_of(sums[x.n() + 1]); }

int input_exponent(const CutMatrix& x, const double* sums) {
  return packed_input_exponent(sums[x.n()], x.m(), x.n(), x.wire);
}

// ---- Phase 1: column energies and norm of the new momentum -------------------------------------------------------

/// Sums of each chunk of rows.
struct Partial {
  double *energy, *input_squares;
};

Partial partial_sums(const CutMatrix& x, Arena& arena) {
  const RowChunks chunks(x.rows->m, x.n());
  return {arena.take<double>(chunks.count * x.n()), arena.take<double>(chunks.count)};
}

template <class T>
void momentum(const CutMatrix& c, double* sums, Scratch& scratch) {
  const Matrix& x = *c.rows;
  const std::int64_t n = x.n;
  std::fill_n(sums, sums_of(c), 0.0);
  if (x.m == 0 || x.gradient.data == nullptr) {
    sums[n + 1] = tally_of(x.m > 0, false, false);
    return;
  }
  const auto& kernel = kernels<T>();
  const MomentumStage& stage = c.plan->momentum;
  const bool of_gradient = c.plan->trust_region && c.plan->trust_region->energy_of == EnergyOf::gradient;
  const bool own_squares = stage.nesterov || of_gradient;
  const RowChunks chunks(x.m, n);
  const Partial partial = scratch.lay_out([&](Arena& arena) { return partial_sums(c, arena); });
  std::atomic<bool> usable = true;
  for_each_chunk(chunks, [&](std::int64_t first, std::int64_t last, std::int64_t chunk) {
    double* energy = partial.energy + chunk * n;
    std::fill_n(energy, n, 0.0);
    partial.input_squares[chunk] = 0;
    MomentumPiece<T> rows;
    T gradient[Piece::kMost];
    for_each_piece(first, last, n, [&](const Piece& p) {
      if (!kernel.all_usable[static_cast<int>(x.gradient.dtype)](p.in(x.gradient), p.count)) usable = false;
      rows.load(x, stage, p);
      if (of_gradient) kernel.load[static_cast<int>(x.gradient.dtype)](p.in(x.gradient), gradient, p.count);
      kernel.add_squares(of_gradient ? gradient : rows.momentum(), energy + p.j, p.count);  // eq:col_energy
      if (own_squares) partial.input_squares[chunk] += kernel.sum_squares(rows.input(), p.count);
    });
  });
  const bool refused = c.plan->skip_nonfinite && !usable;
  sums[n + 1] = tally_of(true, true, refused);
  if (refused) return;  // no NaN among the sums: it would look like a failure of the reduction
  add_chunks(partial.energy, chunks.count, n, sums);
  sums[n] = own_squares ? std::accumulate(partial.input_squares, partial.input_squares + chunks.count, 0.0)
                        : std::accumulate(sums, sums + n, 0.0);
}

// ---- Then the rows go to the owner -------------------------------------------------------------------------------

template <class T>
void pack(const CutMatrix& c, const double* sums, std::byte* packed) {
  if (!c.plan->orthogonalize) return;
  const Matrix& x = *c.rows;
  const std::size_t size = size_of(c.wire);
  if (!verdict_of(c, sums).active) {
    std::fill_n(packed, static_cast<std::size_t>(x.m * x.n) * size, std::byte{0});
    return;
  }
  const int exponent = input_exponent(c, sums);
  for_each_chunk(RowChunks(x.m, x.n), [&](std::int64_t first, std::int64_t last, std::int64_t) {
    MomentumPiece<T> rows;
    for_each_piece(first, last, x.n, [&](const Piece& p) {
      rows.load(x, c.plan->momentum, p);
      scale(rows.input(), p.count, exponent);
      kernels<T>().store[static_cast<int>(c.wire)](rows.input(), packed + p.offset(x.n, size), p.count);
    });
  });
}

// ---- Phase 2: the owner ------------------------------------------------------------------------------------------

template <class T>
struct Whole {
  T *input, *output;
};

template <class T>
Whole<T> whole_matrix(const CutMatrix& x, Arena& arena) {
  return {arena.take<T>(x.m() * x.n()), arena.take<T>(x.m() * x.n())};
}

/// Calls body(address in a buffer of packed rows, row of the whole matrix) for all rows. `offset`: where those of a
/// rank begin.
template <class Byte, class Body>
void for_each_packed_row(const CutMatrix& x, Byte* buffer, std::size_t PackedRows::*offset, Body&& body) {
  const std::size_t row = static_cast<std::size_t>(x.n()) * size_of(x.wire);
  for (const PackedRows& rows : x.gathered) {
    for_each_chunk(RowChunks(rows.count, x.n()), [&](std::int64_t first, std::int64_t last, std::int64_t) {
      for (std::int64_t i = first; i < last; ++i)
        body(buffer + rows.*offset + static_cast<std::size_t>(i) * row, rows.first + i);
    });
  }
}

template <class T>
void orthogonalize(const CutMatrix& c, const double* sums, const CutBuffers& buffers, Workspace& workspace) {
  if (!c.owned) return;
  const auto& kernel = kernels<T>();
  const std::int64_t m = c.m(), n = c.n();
  const OrthogonalizeStage& stage = *c.plan->orthogonalize;
  const auto wire = static_cast<int>(c.wire);
  const auto whole = workspace.step.lay_out([&](Arena& arena) { return whole_matrix<T>(c, arena); });
  T *const input = whole.input, *const output = whole.output;
  const double norm_scale =
      input_scale<T>(stage.norm, std::sqrt(sums[n]), static_cast<double>(m) * static_cast<double>(n));
  if (!verdict_of(c, sums).active || norm_scale == 0) {
    std::fill_n(output, m * n, T(0));
  } else {
    for_each_packed_row(c, buffers.gathered, &PackedRows::offset,
                        [&](const std::byte* row, std::int64_t i) { kernel.load[wire](row, input + i * n, n); });
    const double scale = norm_scale * std::ldexp(1.0, -input_exponent(c, sums));         // eq:prenorm_main
    iterate<T>({input, dtype_of<T>(), m, n, n}, scale, stage, output, workspace.stage);  // eq:ns_main
  }
  const int exponent = packed_direction_exponent(m, n, c.wire);
  for_each_packed_row(c, buffers.directions, &PackedRows::answer, [&](std::byte* row, std::int64_t i) {
    scale(output + i * n, n, exponent);
    kernel.store[wire](output + i * n, row, n);
  });
}

// ---- Phase 3: row factors ----------------------------------------------------------------------------------------

double* row_squares_of(const CutMatrix& x, Arena& arena) { return arena.take<double>(x.rows->m); }

template <class T>
void row_scale(const CutMatrix& c, const std::byte* returned, double* norms, Scratch& scratch) {
  const Matrix& x = *c.rows;
  const MuonPipeline& plan = *c.plan;
  T *v = static_cast<T*>(x.v_row), *v_next = static_cast<T*>(c.v_next), *factor = static_cast<T*>(c.row_factor);
  std::fill_n(factor, x.m, T(1));
  if (!plan.row_scale && plan.calibrate.kind != CalibrateStage::Kind::rms) return;
  double* squares = scratch.lay_out([&](Arena& arena) { return row_squares_of(c, arena); });
  for_each_chunk(RowChunks(x.m, x.n), [&](std::int64_t first, std::int64_t last, std::int64_t) {
    MomentumPiece<T> momentum;
    T direction[Piece::kMost];
    std::fill(squares + first, squares + last, 0.0);
    for_each_piece(first, last, x.n, [&](const Piece& p) {
      load_direction(c, returned, p, momentum, direction);
      squares[p.i] += kernels<T>().sum_squares(direction, p.count);
    });
  });
  for (std::int64_t i = 0; i < x.m; ++i) {
    if (plan.row_scale) {
      v_next[i] = next_row_moment(*plan.row_scale, v[i], squares[i], x.n);  // eq:rowscale_main
      factor[i] = row_factor(*plan.row_scale, v_next[i]);                   // eq:rowscale_main1
    }
    norms[0] += base_squares(squares[i], factor[i]);
    norms[1] += squares[i];
  }
}

/// Column energies of O_base.
template <class T>
void direction_energy(const CutMatrix& c, const std::byte* returned, double* energies, Scratch& scratch) {
  const Matrix& x = *c.rows;
  const T* factor = static_cast<const T*>(c.row_factor);
  const RowChunks chunks(x.m, x.n);
  const Partial partial = scratch.lay_out([&](Arena& arena) { return partial_sums(c, arena); });
  for_each_chunk(chunks, [&](std::int64_t first, std::int64_t last, std::int64_t chunk) {
    MomentumPiece<T> momentum;
    T direction[Piece::kMost];
    double* energy = partial.energy + chunk * x.n;
    std::fill_n(energy, x.n, 0.0);
    for_each_piece(first, last, x.n, [&](const Piece& p) {
      load_direction(c, returned, p, momentum, direction);
      for (std::int64_t k = 0; k < p.count; ++k) direction[k] *= factor[p.i];
      kernels<T>().add_squares(direction, energy + p.j, p.count);  // eq:col_energy
    });
  });
  add_chunks(partial.energy, chunks.count, x.n, energies);
}

// ---- Phase 4: state and weights ----------------------------------------------------------------------------------

template <class T>
struct Damping {
  T* c;
  double* energy_copy;
};

template <class T>
Damping<T> damping_of(const CutMatrix& x, Arena& arena) {
  if (!x.plan->trust_region) return {};
  return {arena.take<T>(x.n()), arena.take<double>(x.n())};
}

/// The update's RMS and the isometry of O would need sums over ranks that a step does not.
template <class T>
void measure(const Matrix& x, const Intermediates<T>& s) {
  Diagnostics& d = *x.diagnostics;
  d.updated = true;
  d.step = *x.step;
  d.eta_hat = s.eta_hat;
  d.update_rms = d.isometry_error = std::numeric_limits<double>::quiet_NaN();
  if (s.c != nullptr) measure_damping<T>({s.c, static_cast<std::size_t>(x.n)}, d);
}

template <class T>
void write_rows(const CutMatrix& c, const std::byte* returned, const Intermediates<T>& s) {
  const Matrix& x = *c.rows;
  const auto& kernel = kernels<T>();
  const T* factor = static_cast<const T*>(c.row_factor);
  const T decay = static_cast<T>(decay_of(c.plan->lr, c.plan->weight_decay));
  for_each_chunk(RowChunks(x.m, x.n), [&](std::int64_t first, std::int64_t last, std::int64_t) {
    MomentumPiece<T> momentum;
    T direction[Piece::kMost];
    for_each_piece(first, last, x.n, [&](const Piece& p) {
      load_direction(c, returned, p, momentum, direction);
      if (c.plan->orthogonalize) momentum.load(x, c.plan->momentum, p);
      kernel.store[static_cast<int>(x.momentum.dtype)](momentum.momentum(), p.in(x.momentum), p.count);
      kernel.apply[static_cast<int>(x.weight.dtype)](p.in(x.weight), direction, s.c == nullptr ? nullptr : s.c + p.j,
                                                     row_step(s.eta_hat, factor[p.i]), decay,
                                                     p.count);  // eq:trasmuon_update_main
      if (x.rounded.data != nullptr) {
        kernel.store[static_cast<int>(x.rounded.dtype)](x.weight.row<T>(p.i) + p.j, p.in(x.rounded), p.count);
      }
    });
  });
}

template <class T>
void apply(const CutMatrix& c, double* sums, const std::byte* returned,
           double* norms,  // NOLINT(readability-non-const-parameter): the energies may be in it
           Scratch& scratch) {
  const Matrix& x = *c.rows;
  const MuonPipeline& plan = *c.plan;
  if (x.diagnostics != nullptr) *x.diagnostics = {.step = *x.step, .skipped = *x.skipped};
  const Verdict verdict = verdict_of(c, sums);
  if (verdict.refused) {
    ++*x.skipped;
    if (x.diagnostics != nullptr) x.diagnostics->skipped = *x.skipped;
  }
  if (!verdict.active) return;
  ++*x.step;
  Intermediates<T> s{};
  const auto [damping, energy_copy] = scratch.lay_out([&](Arena& arena) { return damping_of<T>(c, arena); });
  s.c = damping;
  s.energy_copy = energy_copy;
  s.column_energy = watches_direction(plan) ? norms + kNorms : sums;
  s.base_squares = norms[0];
  s.direction_squares = norms[1];
  calibrate(x, plan.calibrate, plan.lr, s);                       // eq:tr_cal_main
  if (plan.trust_region) trust_region(x, *plan.trust_region, s);  // eq:eref_main ... eq:sf_main
  if (plan.row_scale) std::copy_n(static_cast<const T*>(c.v_next), x.m, static_cast<T*>(x.v_row));
  write_rows(c, returned, s);
  if (x.diagnostics != nullptr) measure(x, s);
}

template <class T>
void run_phase(CutPhase phase, const CutMatrix& x, const CutBuffers& b, Workspace& workspace) {
  if (x.dion != nullptr) {
    run_cut_dion<T>(phase, x, b, workspace);
    return;
  }
  double* sums = b.sums + x.sums;
  switch (phase) {
    case CutPhase::momentum: momentum<T>(x, sums, workspace.stage); break;
    case CutPhase::pack: pack<T>(x, sums, b.rows + x.packed); break;
    case CutPhase::orthogonalize: orthogonalize<T>(x, sums, b, workspace); break;
    case CutPhase::row_scale: {
      double* norms = b.norms + x.norms;
      std::fill_n(norms, norms_of(x), 0.0);
      if (x.rows->m == 0 || !verdict_of(x, sums).active) break;
      row_scale<T>(x, b.returned, norms, workspace.stage);
      if (watches_direction(*x.plan)) direction_energy<T>(x, b.returned, norms + kNorms, workspace.stage);
      break;
    }
    case CutPhase::apply: apply<T>(x, sums, b.returned, b.norms + x.norms, workspace.stage); break;
  }
}

template <class T>
WorkspaceBytes workspace_bytes(CutPhase phase, const CutMatrix& x) {
  if (x.dion != nullptr) return cut_dion_workspace<T>(phase, x);
  if (phase != CutPhase::orthogonalize) {
    return {0, std::max({bytes_of([&](Arena& arena) { return partial_sums(x, arena); }),
                         bytes_of([&](Arena& arena) { return row_squares_of(x, arena); }),
                         bytes_of([&](Arena& arena) { return damping_of<T>(x, arena); })})};
  }
  if (!x.owned) return {};
  return {bytes_of([&](Arena& arena) { return whole_matrix<T>(x, arena); }),
          iterate_scratch<T>(x.m(), x.n(), *x.plan->orthogonalize)};
}

}  // namespace

WorkspaceBytes workspace_bytes(CutPhase phase, const CutMatrix& x) {
  return x.rows->compute == DType::f64 ? workspace_bytes<double>(phase, x) : workspace_bytes<float>(phase, x);
}

void run_phase(CutPhase phase, const CutMatrix& x, const CutBuffers& buffers, Workspace& workspace) {
  if (x.rows->compute == DType::f64) run_phase<double>(phase, x, buffers, workspace);
  else run_phase<float>(phase, x, buffers, workspace);
}

}  // namespace trasmuon::cpu
