// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cpu/products/gemm.h"
#include "stages/arena.h"
#include "stages/matrix.h"

// The parts of Dion's step, which an owner and the ranks that hold rows share when the matrix is cut. T is the compute
// type.
namespace trasmuon::cpu {

/// P^T (rank x m) and R^T (rank x n), and what it takes to compute them.
template <class T>
struct DionFactors {
  T *p, *r;
  double* errors;
  T* scratch;
};

/// `other_scratch`: elements that the scratch must have at least.
template <class T>
DionFactors<T> lay_out_factors(std::int64_t m, std::int64_t n, std::int64_t rank, std::int64_t other_scratch,
                               Arena& arena);

/// b <- M + G; `b` may be M. `gradient`: memory for one row.
template <class T>
void add_gradient(const Matrix& x, const MatrixView& b, T* gradient);

/// P = orth(B Q), R = B^T P. `stored` is B, or its transpose; `basis` is Q.
template <class T>
void factorize(const MatrixView& stored, bool transposed, const MatrixView& basis, const DionFactors<T>& factors);

/// Q <- R with columns of unit length; a zero column keeps the old one. `r` is R^T and gets unit rows.
template <class T>
void renew_basis(const MatrixView& basis, T* r);

}  // namespace trasmuon::cpu
