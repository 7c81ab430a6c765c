// SPDX-License-Identifier: Apache-2.0
#include "cpu/cut_dion.h"

#include <algorithm>
#include <limits>

#include "cpu/dion.h"
#include "cpu/kernels.h"
#include "cpu/row_chunks.h"
#include "stages/formulas.h"

namespace trasmuon::cpu {
namespace {

Verdict verdict_of(const CutMatrix& x, const CutBuffers& buffers) { return trasmuon::verdict_of(buffers.sums[x.sums]); }

double tally_of(const Matrix& x, bool usable) {
  return trasmuon::tally_of(x.m > 0, x.gradient.data != nullptr, !usable);
}

/// Rows that lie one after the other.
template <class T>
MatrixView packed_view(T* data, std::int64_t rows, std::int64_t cols) {
  return {data, dtype_of<T>(), rows, cols, cols};
}

template <class T>
void pack(const CutMatrix& c, const CutBuffers& buffers, Scratch& scratch) {
  const Matrix& x = *c.rows;
  if (x.m == 0) return;
  T* rows = reinterpret_cast<T*>(buffers.rows + c.packed);
  if (!verdict_of(c, buffers).active) {
    std::fill_n(rows, x.m * x.n, T(0));
    return;
  }
  T* gradient = scratch.lay_out([&](Arena& arena) { return arena.take<T>(x.n); });
  add_gradient(x, packed_view(rows, x.m, x.n), gradient);
}

// ---- The owner ---------------------------------------------------------------------------------------------------

template <class T>
DionFactors<T> owner_factors(const CutMatrix& x, Arena& arena) {
  return lay_out_factors<T>(x.m(), x.n(), x.rows->basis.cols, 0, arena);
}

template <class T>
void factorize_whole(const CutMatrix& c, const CutBuffers& buffers, Workspace& workspace) {
  const std::int64_t m = c.m(), n = c.n(), rank = c.rows->basis.cols;
  T* b = workspace.step.lay_out([&](Arena& arena) { return arena.take<T>(m * n); });
  const DionFactors<T> f = workspace.stage.lay_out([&](Arena& arena) { return owner_factors<T>(c, arena); });
  if (!verdict_of(c, buffers).active) {
    std::fill_n(f.p, rank * m, T(0));
    std::fill_n(f.r, rank * n, T(0));
  } else {
    for (const PackedRows& rows : c.gathered) {
      const T* from = reinterpret_cast<const T*>(buffers.gathered + rows.offset);
      std::copy_n(from, rows.count * n, b + rows.first * n);
    }
    factorize(packed_view(b, m, n), false, c.rows->basis, f);
  }
  for (const PackedRows& rows : c.gathered) {
    T* answer = reinterpret_cast<T*>(buffers.directions + rows.answer);
    for (std::int64_t i = 0; i < rows.count; ++i) {
      for (std::int64_t k = 0; k < rank; ++k) answer[i * rank + k] = f.p[k * m + rows.first + i];
    }
    std::copy_n(f.r, rank * n, answer + rows.count * rank);
  }
}

// ---- State and weights -------------------------------------------------------------------------------------------

template <class T>
struct Update {
  T* r;  ///< R^T, then with rows of unit length
  T* gradient;
  T* scratch;
};

template <class T>
Update<T> update_memory(const CutMatrix& x, Arena& arena) {
  const std::int64_t rank = x.rows->basis.cols;
  const std::int64_t scratch = x.rows->m > 0 ? multiply_scratch<T>(x.rows->m, x.n(), rank) : 0;
  return {arena.take<T>(rank * x.n()), arena.take<T>(x.n()), arena.take<T>(scratch)};
}

template <class T>
T* direction_memory(const CutMatrix& x, Arena& arena) {
  return arena.take<T>(x.rows->m * x.n());
}

/// The update's RMS and the isometry of O would need sums over ranks that a step does not.
void measure(const Matrix& x, double eta_hat) {
  Diagnostics& d = *x.diagnostics;
  d.updated = true;
  d.step = *x.step;
  d.eta_hat = eta_hat;
  d.update_rms = d.isometry_error = std::numeric_limits<double>::quiet_NaN();
}

template <class T>
void apply_rows(const CutMatrix& c, const CutBuffers& buffers, Workspace& workspace) {
  Matrix x = *c.rows;
  x.diagnostics = nullptr;  // apply() would measure these rows alone
  const std::int64_t rank = x.basis.cols;
  const T* p = reinterpret_cast<const T*>(buffers.returned + c.returned);
  const Update<T> memory = workspace.stage.lay_out([&](Arena& arena) { return update_memory<T>(c, arena); });
  std::copy_n(p + x.m * rank, rank * x.n, memory.r);
  Intermediates<T> s{};
  s.eta_hat = dion_step(c.dion->lr, c.m(), x.n);
  if (c.rows->diagnostics != nullptr) measure(*c.rows, s.eta_hat);
  if (x.m == 0) {
    renew_basis(x.basis, memory.r);
    return;
  }
  // C <- alpha P R^T + beta C, for the rows here
  const auto outer_product = [&](const MatrixView& out, T alpha, T beta) {
    multiply<T>({.m = x.m,
                 .n = x.n,
                 .k = rank,
                 .a = {p, rank, 1},
                 .b = {memory.r, x.n, 1},
                 .c = out.row<T>(0),
                 .ldc = out.row_stride,
                 .alpha = alpha,
                 .d = beta != T(0) ? out.row<T>(0) : nullptr,
                 .ldd = out.row_stride,
                 .beta = beta},
                memory.scratch);
  };
  // M <- B - (1 - mu) P R^T;  W <- (1 - lr lambda) W - lr sqrt(m/n) P Q^T
  add_gradient(x, x.momentum, memory.gradient);
  outer_product(x.momentum, static_cast<T>(dion_feedback(c.dion->momentum)), T(1));
  renew_basis(x.basis, memory.r);
  T* direction = workspace.step.lay_out([&](Arena& arena) { return direction_memory<T>(c, arena); });
  s.direction = packed_view(direction, x.m, x.n);
  outer_product(s.direction, T(1), T(0));
  apply(x, decay_of(c.dion->lr, c.dion->weight_decay), s, workspace.stage);
}

template <class T>
void commit(const CutMatrix& c, const CutBuffers& buffers, Workspace& workspace) {
  const Matrix& x = *c.rows;
  const Verdict verdict = verdict_of(c, buffers);
  if (verdict.refused) ++*x.skipped;
  if (x.diagnostics != nullptr) *x.diagnostics = {.step = *x.step, .skipped = *x.skipped};
  if (!verdict.active) return;
  ++*x.step;
  apply_rows<T>(c, buffers, workspace);
}

}  // namespace

template <class T>
WorkspaceBytes cut_dion_workspace(CutPhase phase, const CutMatrix& x) {
  if (phase != CutPhase::orthogonalize) {
    return {bytes_of([&](Arena& arena) { return direction_memory<T>(x, arena); }),
            bytes_of([&](Arena& arena) { return update_memory<T>(x, arena); })};
  }
  if (!x.owned) return {};
  return {bytes_of([&](Arena& arena) { return arena.take<T>(x.m() * x.n()); }),
          bytes_of([&](Arena& arena) { return owner_factors<T>(x, arena); })};
}

template <class T>
void run_cut_dion(CutPhase phase, const CutMatrix& x, const CutBuffers& buffers, Workspace& workspace) {
  switch (phase) {
    case CutPhase::momentum: buffers.sums[x.sums] = tally_of(*x.rows, all_usable<T>(x.rows->gradient)); break;
    case CutPhase::pack: pack<T>(x, buffers, workspace.stage); break;
    case CutPhase::orthogonalize:
      if (x.owned) factorize_whole<T>(x, buffers, workspace);
      break;
    case CutPhase::row_scale: break;  // P Q^T has no statistics
    case CutPhase::apply: commit<T>(x, buffers, workspace); break;
  }
}

template WorkspaceBytes cut_dion_workspace<float>(CutPhase, const CutMatrix&);
template WorkspaceBytes cut_dion_workspace<double>(CutPhase, const CutMatrix&);
template void run_cut_dion<float>(CutPhase, const CutMatrix&, const CutBuffers&, Workspace&);
template void run_cut_dion<double>(CutPhase, const CutMatrix&, const CutBuffers&, Workspace&);

}  // namespace trasmuon::cpu
