// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cpu/gemm.h"
#include "cpu/kernels.h"
#include "cpu/stages.h"
#include "stages/report.h"

namespace trasmuon::cpu {
namespace {

/// ||O O^T - I||_F / sqrt(s) on the short side.
template <class T>
double isometry_error(const MatrixView& o) {
  const bool tall = o.rows > o.cols;
  const std::int64_t s = std::min(o.rows, o.cols), l = std::max(o.rows, o.cols);
  std::vector<T> gram(static_cast<std::size_t>(s * s)), scratch(static_cast<std::size_t>(multiply_scratch<T>(s, s)));
  const Operand<T> stored{o.row<T>(0), o.row_stride, 1};
  const Operand<T> wide = tall ? stored.transpose() : stored;
  multiply<T>({.m = s,
               .n = s,
               .k = l,
               .a = wide,
               .b = wide.transpose(),
               .c = gram.data(),
               .ldc = s,
               .diagonal = T(-1),
               .symmetric = true},
              scratch.data());
  return std::sqrt(kernels<T>().sum_squares(gram.data(), s * s) / static_cast<double>(s));
}

template <class T>
void report(const Matrix& x, double update_squares) {
  Diagnostics& d = *x.diagnostics;
  d.updated = true;
  d.step = *x.step;
  d.skipped = *x.skipped;
  d.eta_hat = x.eta_hat;
  d.update_rms = std::sqrt(update_squares / static_cast<double>(x.m * x.n));
  d.isometry_error = isometry_error<T>(x.direction);
  const T* c = static_cast<const T*>(x.column_factor);
  if (c == nullptr) return;
  report_damping<T>({c, static_cast<std::size_t>(x.n)}, d);
}

}  // namespace

void CpuStages::apply(std::span<Matrix> batch, double decay) {
  for_each_active(batch, [&]<class T>(Matrix& x) {
    const auto& kernel = kernels<T>();
    const auto update = kernel.apply[static_cast<int>(x.weight.dtype)];
    const T* rows = static_cast<const T*>(x.row_factor);
    const T* columns = static_cast<const T*>(x.column_factor);
    // In the storage's orientation the update is left_i * O_ij * right_j.
    const T* left = x.transposed ? columns : rows;
    const T* right = x.transposed ? rows : columns;
    const std::int64_t cols = x.weight.cols;
    const RowChunks chunks(x.weight.rows, cols);
    std::vector<double> update_squares(x.diagnostics != nullptr ? static_cast<std::size_t>(chunks.count) : 0);
    for_each_chunk(chunks, [&](std::int64_t first, std::int64_t last, std::int64_t chunk) {
      for (std::int64_t i = first; i < last; ++i) {
        const T* o = x.direction.row<T>(i);
        // eta^ of a direction that is zero may be beyond T; times zero it must still be zero.
        const double wanted = x.eta_hat * (left != nullptr ? static_cast<double>(left[i]) : 1.0);
        const T scale = static_cast<T>(std::min(wanted, static_cast<double>(std::numeric_limits<T>::max())));
        update(x.weight.row_bytes(i), o, right, scale, static_cast<T>(decay), cols);
        if (x.rounded.data != nullptr) {
          kernel.store[static_cast<int>(x.rounded.dtype)](x.weight.row<T>(i), x.rounded.row_bytes(i), cols);
        }
        if (x.diagnostics != nullptr) {
          const double sum = right != nullptr ? kernel.sum_squares_scaled(o, right, cols) : kernel.sum_squares(o, cols);
          update_squares[static_cast<std::size_t>(chunk)] +=
              static_cast<double>(scale) * static_cast<double>(scale) * sum;
        }
      }
    });
    if (x.diagnostics == nullptr) return;
    double sum = 0;
    for (double part : update_squares) sum += part;
    report<T>(x, sum);
  });
}

}  // namespace trasmuon::cpu
