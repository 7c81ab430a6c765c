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

/// One matrix to be stepped, and its state. W is m x n = [out, in]; with `transposed` it is stored [in, out]. Rows and
/// columns always mean those of W, not of the storage. "Compute type" is f64 for f64 weights and f32 otherwise.
struct Matrix {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t whole_m = 0;  ///< m, or more where other ranks have rows of the same matrix
  bool transposed = false;
  DType compute = DType::f32;

  MatrixView weight;    ///< as stored; the f32 master where one is kept
  MatrixView rounded;   ///< the 16-bit weight beside its master, else empty
  MatrixView gradient;  ///< empty: no gradient this step
  MatrixView momentum;  ///< compute type, or bf16; AdamW's first moment

  // State beside the momentum; null where the rule has none.
  void* v_row = nullptr;          ///< m, compute type
  void* c_ema = nullptr;          ///< n, compute type
  void* c_last = nullptr;         ///< n, compute type
  double* c_sum = nullptr;        ///< n: C of the paper
  double* e_ref = nullptr;        ///< one; n if the reference is the columns' history
  double* gamma_sum = nullptr;    ///< S of the paper
  double* eta_average = nullptr;  ///< of eta^; null unless gamma is taken from it
  MatrixView second_moment;       ///< AdamW
  MatrixView basis;               ///< Dion's Q, n x r
  std::int64_t* step = nullptr;
  std::int64_t* skipped = nullptr;

  Diagnostics* diagnostics = nullptr;  ///< null: off
};

}  // namespace trasmuon
