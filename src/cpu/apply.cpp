// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "cpu/products/gemm.h"
#include "cpu/row_chunks.h"
#include "cpu/step.h"
#include "stages/formulas.h"
#include "stages/measure.h"

namespace trasmuon::cpu {
namespace {

template <class T>
struct GramMemory {
  T *gram, *product;
};

template <class T>
GramMemory<T> gram_memory(std::int64_t rows, std::int64_t cols, Arena& arena) {
  const std::int64_t s = std::min(rows, cols), l = std::max(rows, cols);
  return {arena.take<T>(s * s), arena.take<T>(multiply_scratch<T>(s, s, l))};
}

/// ||O O^T - I||_F / sqrt(s) on the short side.
template <class T>
double isometry_error(const MatrixView& o, Scratch& scratch) {
  const bool tall = o.rows > o.cols;
  const std::int64_t s = std::min(o.rows, o.cols), l = std::max(o.rows, o.cols);
  const GramMemory<T> memory = scratch.lay_out([&](Arena& arena) { return gram_memory<T>(o.rows, o.cols, arena); });
  const Operand<T> stored{o.row<T>(0), o.row_stride, 1};
  const Operand<T> wide = tall ? stored.transpose() : stored;
  multiply<T>({.m = s,
               .n = s,
               .k = l,
               .a = wide,
               .b = wide.transpose(),
               .c = memory.gram,
               .ldc = s,
               .diagonal = T(-1),
               .symmetric = true},
              memory.product);
  return std::sqrt(kernels<T>().sum_squares(memory.gram, s * s) / static_cast<double>(s));
}

template <class T>
void measure(const Matrix& x, const Intermediates<T>& s, double update_squares, Scratch& scratch) {
  Diagnostics& d = *x.diagnostics;
  d.updated = true;
  d.step = *x.step;
  d.eta_hat = s.eta_hat;
  d.update_rms = std::sqrt(update_squares / static_cast<double>(x.m * x.n));
  d.isometry_error = isometry_error<T>(s.direction, scratch);
  if (s.c != nullptr) measure_damping<T>({s.c, static_cast<std::size_t>(x.n)}, d);
}

}  // namespace

template <class T>
std::size_t apply_scratch(const Matrix& x) {
  if (x.diagnostics == nullptr) return 0;
  return bytes_of([&](Arena& arena) { return gram_memory<T>(x.m, x.n, arena); });
}

template <class T>
void apply(const Matrix& x, double decay, const Intermediates<T>& s, Scratch& scratch) {
  const auto& kernel = kernels<T>();
  const auto update = kernel.apply[static_cast<int>(x.weight.dtype)];
  // In the storage's orientation the update is left_i * O_ij * right_j.
  const T* left = x.transposed ? s.c : s.row_factor;
  const T* right = x.transposed ? s.row_factor : s.c;
  const std::int64_t cols = x.weight.cols;
  const RowChunks chunks(x.weight.rows, cols);
  double update_squares[RowChunks::kMostChunks] = {};
  for_each_chunk(chunks, [&](std::int64_t first, std::int64_t last, std::int64_t chunk) {
    for (std::int64_t i = first; i < last; ++i) {
      const T* o = s.direction.template row<T>(i);
      const T step = row_step(s.eta_hat, left != nullptr ? left[i] : T(1));
      update(x.weight.row_bytes(i), o, right, step, static_cast<T>(decay), cols);  // eq:trasmuon_update_main
      if (x.rounded.data != nullptr) {
        kernel.store[static_cast<int>(x.rounded.dtype)](x.weight.row<T>(i), x.rounded.row_bytes(i), cols);
      }
      if (x.diagnostics != nullptr) {
        const double sum = right != nullptr ? kernel.sum_squares_scaled(o, right, cols) : kernel.sum_squares(o, cols);
        update_squares[chunk] += static_cast<double>(step) * static_cast<double>(step) * sum;
      }
    }
  });
  if (x.diagnostics == nullptr) return;
  double sum = 0;
  for (double part : update_squares) sum += part;
  measure<T>(x, s, sum, scratch);
}

template std::size_t apply_scratch<float>(const Matrix&);
template std::size_t apply_scratch<double>(const Matrix&);
template void apply<float>(const Matrix&, double, const Intermediates<float>&, Scratch&);
template void apply<double>(const Matrix&, double, const Intermediates<double>&, Scratch&);

}  // namespace trasmuon::cpu
