// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "trasmuon/diagnostics.h"
#include "trasmuon/tensor.h"

namespace trasmuon {

/// A matrix in memory: element (i, j) is data[i * row_stride + j].
struct MatrixView {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;

  template <class T>
  T* row(std::int64_t i) const {
    return static_cast<T*>(data) + i * row_stride;
  }
  void* row_bytes(std::int64_t i) const {
    return static_cast<char*>(data) + i * row_stride * static_cast<std::int64_t>(size_of(dtype));
  }
  std::int64_t elements() const { return rows * cols; }
};

/// One matrix to be stepped: W is m x n = [out, in]; with `transposed` it is stored
/// [in, out]. Rows, columns, v and c below always mean those of W, not of the storage.
/// "compute type" is f64 for f64 weights and f32 otherwise.
struct Matrix {
  std::int64_t m = 0;
  std::int64_t n = 0;
  bool transposed = false;
  DType compute = DType::f32;

  MatrixView weight;    ///< as stored; the f32 master where one is kept
  MatrixView rounded;   ///< the 16-bit weight beside its master, else empty
  MatrixView gradient;  ///< empty: no gradient this step
  MatrixView momentum;  ///< compute type, or bf16; AdamW's first moment

  // State beside the momentum; null where the rule has none.
  void* v_row = nullptr;    ///< m, compute type
  void* c_ema = nullptr;    ///< n, compute type
  void* c_last = nullptr;   ///< n, compute type
  double* c_sum = nullptr;  ///< n: C of the paper
  double* e_ref = nullptr;
  double* gamma_sum = nullptr;  ///< S of the paper
  MatrixView second_moment;     ///< AdamW
  MatrixView basis;             ///< Dion's Q, n x r
  std::int64_t* step = nullptr;
  std::int64_t* skipped = nullptr;

  // Of the step in progress; memory lent by the backend.
  bool active = false;
  MatrixView direction;             ///< O, stored like the weight
  MatrixView input;                 ///< of the orthogonalization: the momentum, or what Nesterov makes of it
  double* column_energy = nullptr;  ///< n: E_j of the momentum
  double* row_squares = nullptr;    ///< m: sum_j O_ij^2
  void* row_factor = nullptr;       ///< m: what row i of O is multiplied by
  void* column_factor = nullptr;    ///< n: c_j; null = 1
  double input_norm = 0;            ///< Frobenius norm of what is orthogonalized
  double base_squares = 0;          ///< ||O_base||_F^2
  double eta_hat = 0;
  Diagnostics* diagnostics = nullptr;  ///< null: off
};

}  // namespace trasmuon
