// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "cpu/stages.h"

namespace trasmuon::cpu {

void CpuStages::row_scale(std::span<Matrix> batch, const RowScaleStage& stage) {
  for_each_active(batch, [&]<class T>(Matrix& x) {
    squares<T>(x.direction, !x.transposed, x.row_squares, scratch_);
    T* v_row = static_cast<T*>(x.v_row);
    T* factor = static_cast<T*>(x.row_factor);
    x.base_squares = 0;
    for (std::int64_t i = 0; i < x.m; ++i) {
      const double mean = x.row_squares[i] / static_cast<double>(x.n);
      v_row[i] = static_cast<T>(stage.beta * static_cast<double>(v_row[i]) + (1 - stage.beta) * mean);
      const double root = std::sqrt(static_cast<double>(v_row[i]) + stage.eps_inside) + stage.eps_outside;
      factor[i] = root > 0 ? static_cast<T>(1 / root) : T(0);
      x.base_squares += x.row_squares[i] * static_cast<double>(factor[i]) * static_cast<double>(factor[i]);
    }
  });
}

void CpuStages::keep_rows(std::span<Matrix> batch, bool norm_needed) {
  for_each_active(batch, [&]<class T>(Matrix& x) {
    std::fill_n(static_cast<T*>(x.row_factor), x.m, T(1));
    x.base_squares = 0;
    if (!norm_needed) return;
    squares<T>(x.direction, !x.transposed, x.row_squares, scratch_);
    for (std::int64_t i = 0; i < x.m; ++i) x.base_squares += x.row_squares[i];
  });
}

}  // namespace trasmuon::cpu
