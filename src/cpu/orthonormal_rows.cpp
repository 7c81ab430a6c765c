// SPDX-License-Identifier: Apache-2.0
//
// Block Gram-Schmidt, every projection done twice: the second pass brings orthogonality
// to rounding, as Householder's would, and nearly all work is matrix products.
#include "cpu/orthonormal_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/gemm.h"
#include "cpu/kernels.h"

namespace trasmuon::cpu {
namespace {

constexpr std::int64_t kBlock = 16;

template <class T>
T dot(const T* a, const T* b, std::int64_t n) {
  constexpr int kLanes = 16;
  T lanes[kLanes] = {};
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += a[j + l] * b[j + l];
  }
  T sum = 0;
  for (; j < n; ++j) sum += a[j] * b[j];
  for (T lane : lanes) sum += lane;
  return sum;
}

template <class T>
double norm(const T* x, std::int64_t n) {
  return std::sqrt(kernels<T>().sum_squares(x, n));
}

/// Removes from `row` its components along the `count` unit rows at `basis`, twice.
template <class T>
void project_out(T* row, const T* basis, std::int64_t count, std::int64_t cols) {
  for (int pass = 0; pass < 2; ++pass) {
    for (std::int64_t k = 0; k < count; ++k) {
      const T component = dot(row, basis + k * cols, cols);
      for (std::int64_t j = 0; j < cols; ++j) row[j] -= component * basis[k * cols + j];
    }
  }
}

}  // namespace

template <class T>
std::int64_t orthonormal_rows_scratch(std::int64_t rows, std::int64_t cols) {
  return kBlock * rows + multiply_scratch<T>(kBlock, std::max(rows, cols));
}

template <class T>
void orthonormal_rows(T* x, std::int64_t rows, std::int64_t cols, T* scratch) {
  T* components = scratch;
  T* product_scratch = scratch + kBlock * rows;
  const double tolerance = 10 * std::sqrt(static_cast<double>(cols)) * std::numeric_limits<T>::epsilon();
  for (std::int64_t first = 0; first < rows; first += kBlock) {
    const std::int64_t count = std::min(kBlock, rows - first);
    T* block = x + first * cols;
    double norms[kBlock];
    for (std::int64_t i = 0; i < count; ++i) {
      norms[i] = norm(block + i * cols, cols);
      // To unit length first, so that neither products nor squares leave T's range.
      if (norms[i] > 0) {
        for (std::int64_t j = 0; j < cols; ++j)
          block[i * cols + j] = static_cast<T>(static_cast<double>(block[i * cols + j]) / norms[i]);
      }
    }
    for (int pass = 0; pass < 2 && first > 0; ++pass) {
      multiply<T>(
          {.m = count, .n = first, .k = cols, .a = {block, cols, 1}, .b = {x, 1, cols}, .c = components, .ldc = first},
          product_scratch);
      multiply<T>({.m = count,
                   .n = cols,
                   .k = first,
                   .a = {components, first, 1},
                   .b = {x, cols, 1},
                   .c = block,
                   .ldc = cols,
                   .alpha = T(-1),
                   .d = block,
                   .ldd = cols,
                   .beta = T(1)},
                  product_scratch);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      T* row = block + i * cols;
      project_out(row, block, i, cols);
      const double length = norm(row, cols);
      const T inverse = length > tolerance ? static_cast<T>(1 / length) : T(0);
      for (std::int64_t j = 0; j < cols; ++j) row[j] *= inverse;
    }
  }
}

template std::int64_t orthonormal_rows_scratch<float>(std::int64_t, std::int64_t);
template std::int64_t orthonormal_rows_scratch<double>(std::int64_t, std::int64_t);
template void orthonormal_rows<float>(float*, std::int64_t, std::int64_t, float*);
template void orthonormal_rows<double>(double*, std::int64_t, std::int64_t, double*);

}  // namespace trasmuon::cpu
