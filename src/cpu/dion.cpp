// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "cpu/kernels.h"
#include "cpu/orthonormal_rows.h"
#include "cpu/products/gemm.h"
#include "cpu/step.h"
#include "stages/formulas.h"

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

/// Q <- R with columns of unit length; a zero column keeps the old one. `r` is R^T and gets unit rows.
template <class T>
void renew_basis(const Matrix& x, T* r) {
  for (std::int64_t k = 0; k < x.basis.cols; ++k) {
    T* row = r + k * x.n;
    const double length = std::sqrt(kernels<T>().sum_squares(row, x.n));
    if (!(length > 0)) continue;
    for (std::int64_t j = 0; j < x.n; ++j) {
      row[j] = static_cast<T>(static_cast<double>(row[j]) / length);
      x.basis.row<T>(j)[k] = row[j];
    }
  }
}

/// Memory of one step.
template <class T>
struct Factors {
  T *p, *r;  ///< P^T and R^T
  double* errors;
  T* scratch;
};

template <class T>
Factors<T> factors(const Matrix& x, Arena& arena) {
  const std::int64_t rank = x.basis.cols;
  const std::int64_t scratch =
      std::max({multiply_scratch<T>(rank, x.m, x.n), multiply_scratch<T>(rank, x.n, x.m),
                multiply_scratch<T>(x.weight.rows, x.weight.cols, rank), orthonormal_rows_scratch<T>(rank, x.m)});
  return {arena.take<T>(rank * x.m), arena.take<T>(rank * x.n), arena.take<double>(rank), arena.take<T>(scratch)};
}

/// errors[k] <- the size of the rounding errors in column k of B Q.
template <class T>
void product_errors(const MatrixView& b, const MatrixView& q, double* errors) {
  double squares = 0;
  for (std::int64_t i = 0; i < b.rows; ++i) squares += kernels<T>().sum_squares(b.row<T>(i), b.cols);
  std::fill_n(errors, q.cols, 0.0);
  for (std::int64_t j = 0; j < q.rows; ++j) kernels<T>().add_squares(q.row<T>(j), errors, q.cols);
  for (std::int64_t k = 0; k < q.cols; ++k) errors[k] = dion_error<T>(std::sqrt(squares), std::sqrt(errors[k]));
}

}  // namespace

template <class T>
std::size_t dion_scratch(const Matrix& x) {
  return bytes_of([&](Arena& arena) { return factors<T>(x, arena); });
}

template <class T>
void dion(const Matrix& x, const DionOptions& options, Workspace& workspace) {
  Intermediates<T> s = intermediates<T>(x, {}, workspace.step);
  const std::int64_t rank = x.basis.cols;
  const auto [p, r, errors, scratch] = workspace.stage.lay_out([&](Arena& arena) { return factors<T>(x, arena); });
  if (!admit<T>(x, true)) return;

  // B = M + G
  const auto& kernel = kernels<T>();
  for (std::int64_t i = 0; i < x.momentum.rows; ++i) {
    T* g = s.direction.template row<T>(i);
    T* m = x.momentum.row<T>(i);
    kernel.load[static_cast<int>(x.gradient.dtype)](x.gradient.row_bytes(i), g, x.momentum.cols);
    for (std::int64_t j = 0; j < x.momentum.cols; ++j) m[j] += g[j];
  }
  const Operand<T> b = logical<T>(x, x.momentum);
  const Operand<T> q{x.basis.row<T>(0), x.basis.row_stride, 1};

  // P = orth(B Q);  R = B^T P
  multiply<T>({.m = rank, .n = x.m, .k = x.n, .a = q.transpose(), .b = b.transpose(), .c = p, .ldc = x.m}, scratch);
  product_errors<T>(x.momentum, x.basis, errors);
  orthonormal_rows(p, rank, x.m, errors, scratch);
  multiply<T>({.m = rank, .n = x.n, .k = x.m, .a = {p, x.m, 1}, .b = b, .c = r, .ldc = x.n}, scratch);

  // M <- B - (1 - mu) P R^T: error feedback keeps what this rank could not express.
  outer_product<T>(x, p, r, rank, static_cast<T>(options.momentum - 1), T(1), x.momentum, scratch);

  // W <- (1 - lr lambda) W - lr sqrt(m/n) P Q^T
  renew_basis(x, r);
  outer_product<T>(x, p, r, rank, T(1), T(0), s.direction, scratch);
  s.eta_hat = dion_step(options.lr, x.m, x.n);
  s.row_factor = nullptr;
  apply(x, 1 - options.lr * options.weight_decay, s, workspace.stage);
}

template std::size_t dion_scratch<float>(const Matrix&);
template std::size_t dion_scratch<double>(const Matrix&);
template void dion<float>(const Matrix&, const DionOptions&, Workspace&);
template void dion<double>(const Matrix&, const DionOptions&, Workspace&);

}  // namespace trasmuon::cpu
