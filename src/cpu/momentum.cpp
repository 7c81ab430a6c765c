// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "cpu/kernels.h"
#include "cpu/stages.h"

namespace trasmuon::cpu {

void CpuStages::momentum(std::span<Matrix> batch, const MomentumStage& stage) {
  for_each_active(batch, [&]<class T>(Matrix& x) {
    ++*x.step;
    const auto& kernel = kernels<T>();
    const auto update = kernel.momentum[static_cast<int>(x.gradient.dtype)];
    const auto load = kernel.load[static_cast<int>(x.gradient.dtype)];
    const std::int64_t cols = x.momentum.cols;
    const T beta = static_cast<T>(stage.beta);
    // A 16-bit momentum is widened into scratch, used as it comes out, and rounded only where it is kept.
    const bool widened = x.momentum.dtype != x.compute;
    const MatrixView& wide = !widened ? x.momentum : stage.nesterov ? x.direction : x.input;
    const RowChunks chunks(x.momentum.rows, cols);
    // One pass over the gradient: each row's momentum, its squares and its look-ahead
    // are taken while the row is in the nearest cache.
    Arena& arena = scratch_;
    arena.reserve(Arena::bytes_for<double>(chunks.count * cols) + Arena::bytes_for<double>(chunks.count));
    double* energy = arena.take<double>(chunks.count * cols);
    double* lookahead_squares = arena.take<double>(chunks.count);
    for_each_chunk(chunks, [&](std::int64_t first, std::int64_t last, std::int64_t chunk) {
      std::fill_n(energy + chunk * cols, cols, 0.0);
      lookahead_squares[chunk] = 0;
      for (std::int64_t i = first; i < last; ++i) {
        T* m = wide.row<T>(i);
        if (widened) kernel.load[static_cast<int>(x.momentum.dtype)](x.momentum.row_bytes(i), m, cols);
        update(m, x.gradient.row_bytes(i), beta, cols);
        if (widened) kernel.store[static_cast<int>(x.momentum.dtype)](m, x.momentum.row_bytes(i), cols);
        if (x.transposed) x.column_energy[i] = kernel.sum_squares(m, cols);
        else kernel.add_squares(m, energy + chunk * cols, cols);
        if (stage.nesterov) {
          T* u = x.input.row<T>(i);
          load(x.gradient.row_bytes(i), u, cols);
          kernel.nesterov(u, m, beta, cols);
          lookahead_squares[chunk] += kernel.sum_squares(u, cols);
        }
      }
    });
    if (!x.transposed) add_chunks(energy, chunks.count, cols, x.column_energy);
    const double squares = stage.nesterov ? std::accumulate(lookahead_squares, lookahead_squares + chunks.count, 0.0)
                                          : std::accumulate(x.column_energy, x.column_energy + x.n, 0.0);
    x.input_norm = std::sqrt(squares);
  });
}

}  // namespace trasmuon::cpu
