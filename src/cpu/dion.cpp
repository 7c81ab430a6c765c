// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "cpu/gemm.h"
#include "cpu/kernels.h"
#include "cpu/orthonormal_rows.h"
#include "cpu/stages.h"

namespace trasmuon::cpu {
namespace {

/// M as an m x n operand, whatever its storage.
template <class T>
Operand<T> logical(const Matrix& x, const MatrixView& stored) {
  const Operand<T> operand{stored.row<T>(0), stored.row_stride, 1};
  return x.transposed ? operand.transpose() : operand;
}

/// stored <- alpha left^T right + beta stored, where left^T right is m x n and left
/// (r x m), right (r x n) are packed.
template <class T>
void outer_product(const Matrix& x, const T* left, const T* right, std::int64_t rank, T alpha, T beta,
                   const MatrixView& stored, T* scratch) {
  const T* tall = x.transposed ? right : left;
  const T* wide = x.transposed ? left : right;
  multiply<T>({.m = stored.rows,
               .n = stored.cols,
               .k = rank,
               .a = {tall, 1, stored.rows},
               .b = {wide, stored.cols, 1},
               .c = stored.row<T>(0),
               .ldc = stored.row_stride,
               .alpha = alpha,
               .d = beta != T(0) ? stored.row<T>(0) : nullptr,
               .ldd = stored.row_stride,
               .beta = beta},
              scratch);
}

}  // namespace

void CpuStages::dion(std::span<Matrix> batch, const DionOptions& options) {
  begin(batch, {});
  admit(batch, true);
  for_each_active(batch, [&]<class T>(Matrix& x) {
    ++*x.step;
    const auto& kernel = kernels<T>();
    const std::int64_t rank = x.basis.cols;
    const std::int64_t product = multiply_scratch<T>(std::max(x.m, x.n), std::max(x.m, x.n));
    const std::int64_t basis = orthonormal_rows_scratch<T>(rank, x.m);
    Arena& arena = scratch_;
    arena.reserve(Arena::bytes_for<T>(rank * x.m) + Arena::bytes_for<T>(rank * x.n) +
                  Arena::bytes_for<T>(std::max(product, basis)));
    T* p = arena.take<T>(rank * x.m);  // P^T
    T* r = arena.take<T>(rank * x.n);  // R^T
    T* scratch = arena.take<T>(std::max(product, basis));

    // B = M + G
    for (std::int64_t i = 0; i < x.momentum.rows; ++i) {
      T* row = x.direction.row<T>(i);
      T* m = x.momentum.row<T>(i);
      kernel.load[static_cast<int>(x.gradient.dtype)](x.gradient.row_bytes(i), row, x.momentum.cols);
      for (std::int64_t j = 0; j < x.momentum.cols; ++j) m[j] += row[j];
    }
    const Operand<T> b = logical<T>(x, x.momentum);
    const Operand<T> q{x.basis.row<T>(0), x.basis.row_stride, 1};

    // P = orth(B Q);  R = B^T P
    multiply<T>({.m = rank, .n = x.m, .k = x.n, .a = q.transpose(), .b = b.transpose(), .c = p, .ldc = x.m}, scratch);
    orthonormal_rows(p, rank, x.m, scratch);
    multiply<T>({.m = rank, .n = x.n, .k = x.m, .a = {p, x.m, 1}, .b = b, .c = r, .ldc = x.n}, scratch);

    // M <- B - (1 - mu) P R^T: error feedback keeps what this rank could not express.
    outer_product<T>(x, p, r, rank, static_cast<T>(options.momentum - 1), T(1), x.momentum, scratch);

    // Q <- R with columns of unit length; a zero column keeps the old one.
    for (std::int64_t k = 0; k < rank; ++k) {
      const double length = std::sqrt(kernel.sum_squares(r + k * x.n, x.n));
      if (!(length > 0)) continue;
      for (std::int64_t j = 0; j < x.n; ++j) {
        r[k * x.n + j] = static_cast<T>(static_cast<double>(r[k * x.n + j]) / length);
        x.basis.row<T>(j)[k] = r[k * x.n + j];
      }
    }
    outer_product<T>(x, p, r, rank, T(1), T(0), x.direction, scratch);
    x.eta_hat = options.lr * std::sqrt(static_cast<double>(x.m) / static_cast<double>(x.n));
    x.row_factor = nullptr;
  });
  apply(batch, 1 - options.lr * options.weight_decay);
}

}  // namespace trasmuon::cpu
