// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace trasmuon::cpu {

/// Elements of scratch that orthonormal_rows() needs.
template <class T>
std::int64_t orthonormal_rows_scratch(std::int64_t rows, std::int64_t cols);

/// Replaces the rows of x (rows x cols, packed) by an orthonormal basis of their span, in order; a row that depends on
/// earlier ones becomes zero. errors[i] is the size of the rounding errors in row i, and afterwards in row i of
/// the result.
template <class T>
void orthonormal_rows(T* x, std::int64_t rows, std::int64_t cols, double* errors, T* scratch);

}  // namespace trasmuon::cpu
