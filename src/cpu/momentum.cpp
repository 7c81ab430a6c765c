// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numeric>
#include <vector>

#include "cpu/backend.h"
#include "cpu/kernels.h"

namespace trasmuon::cpu {

void CpuBackend::momentum(std::span<Matrix> batch, const MomentumStage& stage) {
  for_each_active(batch, [&]<class T>(Matrix& x, int) {
    ++*x.step;
    const auto& kernel = kernels<T>();
    const auto update = kernel.momentum[static_cast<int>(x.gradient.dtype)];
    const auto load = kernel.load[static_cast<int>(x.gradient.dtype)];
    const std::int64_t cols = x.momentum.cols;
    const T beta = static_cast<T>(stage.beta);
    const RowChunks chunks(x.momentum.rows, cols);
    // One pass over the gradient: each row's momentum, its squares and its look-ahead
    // are taken while the row is in the nearest cache.
    std::vector<double> energy(static_cast<std::size_t>(x.transposed ? 0 : chunks.count * cols));
    std::vector<double> lookahead_squares(static_cast<std::size_t>(x.lookahead.data ? chunks.count : 0));
    for_each_chunk(chunks, [&](std::int64_t first, std::int64_t last, std::int64_t chunk) {
      for (std::int64_t i = first; i < last; ++i) {
        T* m = x.momentum.row<T>(i);
        update(m, x.gradient.row_bytes(i), beta, cols);
        if (x.transposed) x.column_energy[i] = kernel.sum_squares(m, cols);
        else kernel.add_squares(m, energy.data() + chunk * cols, cols);
        if (x.lookahead.data != nullptr) {
          T* u = x.lookahead.row<T>(i);
          load(x.gradient.row_bytes(i), u, cols);
          kernel.nesterov(u, m, beta, cols);
          lookahead_squares[static_cast<std::size_t>(chunk)] += kernel.sum_squares(u, cols);
        }
      }
    });
    if (!x.transposed) {
      for (std::int64_t j = 0; j < cols; ++j) {
        double sum = 0;
        for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
          sum += energy[static_cast<std::size_t>(chunk * cols + j)];
        }
        x.column_energy[j] = sum;
      }
    }
    const double squares = x.lookahead.data != nullptr
                               ? std::accumulate(lookahead_squares.begin(), lookahead_squares.end(), 0.0)
                               : std::accumulate(x.column_energy, x.column_energy + x.n, 0.0);
    x.input_norm = std::sqrt(squares);
  });
}

}  // namespace trasmuon::cpu
