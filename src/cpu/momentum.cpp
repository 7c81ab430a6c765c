// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "cpu/row_chunks.h"
#include "cpu/step.h"

namespace trasmuon::cpu {
namespace {

/// Sums of each chunk of rows.
struct Partial {
  double *energy, *input_squares;
};

Partial partial_sums(const Matrix& x, Arena& arena) {
  const RowChunks chunks(x.momentum.rows, x.momentum.cols);
  return {arena.take<double>(chunks.count * x.momentum.cols), arena.take<double>(chunks.count)};
}

}  // namespace

std::size_t momentum_scratch(const Matrix& x) {
  return bytes_of([&](Arena& arena) { return partial_sums(x, arena); });
}

template <class T>
void momentum(const Matrix& x, const MomentumStage& stage, Intermediates<T>& s, Scratch& scratch) {
  const auto& kernel = kernels<T>();
  const auto update = kernel.momentum[static_cast<int>(x.gradient.dtype)];
  const auto load = kernel.load[static_cast<int>(x.gradient.dtype)];
  const std::int64_t cols = x.momentum.cols;
  const T beta = static_cast<T>(stage.beta);
  // A 16-bit momentum is widened into scratch, used unrounded, and rounded only where it is kept.
  const bool widened = x.momentum.dtype != x.compute;
  const MatrixView& wide = !widened ? x.momentum : stage.nesterov ? s.direction : s.input;
  const RowChunks chunks(x.momentum.rows, cols);
  const Partial partial = scratch.lay_out([&](Arena& arena) { return partial_sums(x, arena); });
  // One pass over the gradient: each row's momentum, its squares and its look-ahead are computed while the row is in
  // the L1 cache.
  for_each_chunk(chunks, [&](std::int64_t first, std::int64_t last, std::int64_t chunk) {
    double* energy = partial.energy + chunk * cols;
    std::fill_n(energy, cols, 0.0);
    partial.input_squares[chunk] = 0;
    for (std::int64_t i = first; i < last; ++i) {
      T* m = wide.row<T>(i);
      if (widened) kernel.load[static_cast<int>(x.momentum.dtype)](x.momentum.row_bytes(i), m, cols);
      update(m, x.gradient.row_bytes(i), beta, cols);  // eq:momentum_main
      if (widened) kernel.store[static_cast<int>(x.momentum.dtype)](m, x.momentum.row_bytes(i), cols);
      if (x.transposed) s.column_energy[i] = kernel.sum_squares(m, cols);  // eq:col_energy
      else kernel.add_squares(m, energy, cols);
      if (stage.nesterov) {
        T* u = s.input.template row<T>(i);
        load(x.gradient.row_bytes(i), u, cols);
        kernel.lookahead(u, m, beta, cols);
        partial.input_squares[chunk] += kernel.sum_squares(u, cols);
      }
    }
  });
  if (!x.transposed) add_chunks(partial.energy, chunks.count, cols, s.column_energy);
  s.input_squares = stage.nesterov ? std::accumulate(partial.input_squares, partial.input_squares + chunks.count, 0.0)
                                   : std::accumulate(s.column_energy, s.column_energy + x.n, 0.0);
}

template void momentum<float>(const Matrix&, const MomentumStage&, Intermediates<float>&, Scratch&);
template void momentum<double>(const Matrix&, const MomentumStage&, Intermediates<double>&, Scratch&);

}  // namespace trasmuon::cpu
