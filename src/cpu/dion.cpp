// SPDX-License-Identifier: Apache-2.0
#include "cpu/dion.h"

#include <algorithm>
#include <cmath>

#include "cpu/kernels.h"
#include "cpu/orthonormal_rows.h"
#include "cpu/products/gemm.h"
#include "cpu/step.h"
#include "stages/formulas.h"

namespace trasmuon::cpu {
namespace {

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

template <class T>
DionFactors<T> step_factors(const Matrix& x, Arena& arena) {
  const std::int64_t outer_products = multiply_scratch<T>(x.weight.rows, x.weight.cols, x.basis.cols);
  return lay_out_factors<T>(x.m, x.n, x.basis.cols, outer_products, arena);
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
DionFactors<T> lay_out_factors(std::int64_t m, std::int64_t n, std::int64_t rank, std::int64_t other_scratch,
                               Arena& arena) {
  const std::int64_t scratch = std::max({multiply_scratch<T>(rank, m, n), multiply_scratch<T>(rank, n, m),
                                         other_scratch, orthonormal_rows_scratch<T>(rank, m)});
  return {arena.take<T>(rank * m), arena.take<T>(rank * n), arena.take<double>(rank), arena.take<T>(scratch)};
}

template <class T>
void factorize(const MatrixView& stored, bool transposed, const MatrixView& basis, const DionFactors<T>& f) {
  const std::int64_t m = transposed ? stored.cols : stored.rows, n = basis.rows, rank = basis.cols;
  const Operand<T> as_stored{stored.row<T>(0), stored.row_stride, 1};
  const Operand<T> b = transposed ? as_stored.transpose() : as_stored;
  const Operand<T> q{basis.row<T>(0), basis.row_stride, 1};
  multiply<T>({.m = rank, .n = m, .k = n, .a = q.transpose(), .b = b.transpose(), .c = f.p, .ldc = m}, f.scratch);
  product_errors<T>(stored, basis, f.errors);
  orthonormal_rows(f.p, rank, m, f.errors, f.scratch);
  multiply<T>({.m = rank, .n = n, .k = m, .a = {f.p, m, 1}, .b = b, .c = f.r, .ldc = n}, f.scratch);
}

template <class T>
void renew_basis(const MatrixView& basis, T* r) {
  for (std::int64_t k = 0; k < basis.cols; ++k) {
    T* row = r + k * basis.rows;
    const double length = std::sqrt(kernels<T>().sum_squares(row, basis.rows));
    if (!(length > 0)) continue;
    for (std::int64_t j = 0; j < basis.rows; ++j) {
      row[j] = static_cast<T>(static_cast<double>(row[j]) / length);
      basis.row<T>(j)[k] = row[j];
    }
  }
}

template <class T>
void add_gradient(const Matrix& x, const MatrixView& b, T* gradient) {
  const auto load = kernels<T>().load[static_cast<int>(x.gradient.dtype)];
  for (std::int64_t i = 0; i < b.rows; ++i) {
    T* row = b.row<T>(i);
    const T* momentum = x.momentum.row<T>(i);
    load(x.gradient.row_bytes(i), gradient, b.cols);
    for (std::int64_t j = 0; j < b.cols; ++j) row[j] = momentum[j] + gradient[j];
  }
}

template <class T>
std::size_t dion_scratch(const Matrix& x) {
  return bytes_of([&](Arena& arena) { return step_factors<T>(x, arena); });
}

template <class T>
void dion(const Matrix& x, const DionOptions& options, Workspace& workspace) {
  Intermediates<T> s = intermediates<T>(x, {}, workspace.step);
  const std::int64_t rank = x.basis.cols;
  const DionFactors<T> f = workspace.stage.lay_out([&](Arena& arena) { return step_factors<T>(x, arena); });
  if (!admit<T>(x, true)) return;

  // B = M + G;  P = orth(B Q);  R = B^T P
  add_gradient(x, x.momentum, s.direction.template row<T>(0));
  factorize(x.momentum, x.transposed, x.basis, f);

  // M <- B - (1 - mu) P R^T: error feedback keeps what this rank could not express.
  outer_product<T>(x, f.p, f.r, rank, static_cast<T>(dion_feedback(options.momentum)), T(1), x.momentum, f.scratch);

  // W <- (1 - lr lambda) W - lr sqrt(m/n) P Q^T
  renew_basis(x.basis, f.r);
  outer_product<T>(x, f.p, f.r, rank, T(1), T(0), s.direction, f.scratch);
  s.eta_hat = dion_step(options.lr, x.m, x.n);
  s.row_factor = nullptr;
  apply(x, decay_of(options.lr, options.weight_decay), s, workspace.stage);
}

template DionFactors<float> lay_out_factors<float>(std::int64_t, std::int64_t, std::int64_t, std::int64_t, Arena&);
template DionFactors<double> lay_out_factors<double>(std::int64_t, std::int64_t, std::int64_t, std::int64_t, Arena&);
template void factorize<float>(const MatrixView&, bool, const MatrixView&, const DionFactors<float>&);
template void factorize<double>(const MatrixView&, bool, const MatrixView&, const DionFactors<double>&);
template void renew_basis<float>(const MatrixView&, float*);
template void renew_basis<double>(const MatrixView&, double*);
template void add_gradient<float>(const Matrix&, const MatrixView&, float*);
template void add_gradient<double>(const Matrix&, const MatrixView&, double*);
template std::size_t dion_scratch<float>(const Matrix&);
template std::size_t dion_scratch<double>(const Matrix&);
template void dion<float>(const Matrix&, const DionOptions&, Workspace&);
template void dion<double>(const Matrix&, const DionOptions&, Workspace&);

}  // namespace trasmuon::cpu
