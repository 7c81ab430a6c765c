// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace trasmuon::cpu {

/// Element (i, j) of an operand is scale * data[i * row_stride + j * col_stride].
template <class T>
struct Operand {
  const T* data;
  std::int64_t row_stride;
  std::int64_t col_stride;
  double scale = 1.0;

  Operand transpose() const { return {data, col_stride, row_stride, scale}; }
};

/// C (m x n) = alpha A (m x k) B (k x n) + beta D + diagonal I. C overlaps neither
/// A nor B; D may be C.
template <class T>
struct Product {
  std::int64_t m, n, k;
  Operand<T> a, b;
  T* c;
  std::int64_t ldc;
  T alpha = 1;
  const T* d = nullptr;
  std::int64_t ldd = 0;
  T beta = 0;
  T diagonal = 0;
  bool symmetric = false;  ///< C is known to be symmetric: half is computed, half mirrored
};

/// Returns the number of scratch elements that multiply() needs for an m x n product over k, and for every product that
/// is smaller in all three.
template <class T>
std::int64_t multiply_scratch(std::int64_t m, std::int64_t n, std::int64_t k);

/// Computes the product. Every element is summed in the same order, whatever the number of threads.
template <class T>
void multiply(const Product<T>& product, T* scratch);

}  // namespace trasmuon::cpu
