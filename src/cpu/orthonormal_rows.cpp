// SPDX-License-Identifier: Apache-2.0
//
// Block Gram-Schmidt, every projection done twice: the second pass brings orthogonality
// to rounding, as Householder's would, and nearly all work is matrix products.
#include "cpu/orthonormal_rows.h"

#include <algorithm>
#include <cmath>

#include "cpu/kernels.h"
#include "cpu/products/gemm.h"
#include "stages/formulas.h"

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

double square(double x) { return x * x; }

/// Removes from `row` its components along the `count` unit rows at `basis`, twice. Returns the squared error that this
/// brings into the row, from the errors of the basis.
template <class T>
double project_out(T* row, const T* basis, const double* errors, std::int64_t count, std::int64_t cols) {
  double inherited = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (std::int64_t k = 0; k < count; ++k) {
      const T component = dot(row, basis + k * cols, cols);
      if (pass == 0) inherited += square(static_cast<double>(component) * errors[k]);
      for (std::int64_t j = 0; j < cols; ++j) row[j] -= component * basis[k * cols + j];
    }
  }
  return inherited;
}

}  // namespace

template <class T>
std::int64_t orthonormal_rows_scratch(std::int64_t rows, std::int64_t cols) {
  return kBlock * rows + std::max(multiply_scratch<T>(kBlock, rows, cols), multiply_scratch<T>(kBlock, cols, rows));
}

template <class T>
void orthonormal_rows(T* x, std::int64_t rows, std::int64_t cols, double* errors, T* scratch) {
  T* components = scratch;
  T* product_scratch = scratch + kBlock * rows;
  for (std::int64_t first = 0; first < rows; first += kBlock) {
    const std::int64_t count = std::min(kBlock, rows - first);
    T* block = x + first * cols;
    double norms[kBlock], inherited[kBlock] = {};
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
      for (std::int64_t i = 0; i < count && pass == 0; ++i) {
        for (std::int64_t k = 0; k < first; ++k)
          inherited[i] += square(static_cast<double>(components[i * first + k]) * errors[k]);
      }
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
      inherited[i] += project_out(row, block, errors + first, i, cols);
      const double length = norm(row, cols);
      const double own = unit_row_error<T>(norms[i], errors[first + i]);
      const bool dependent = is_dependent<T>(length, own, inherited[i], cols);
      const T inverse = dependent ? T(0) : static_cast<T>(1 / length);
      errors[first + i] = dependent ? 0 : own / length;
      for (std::int64_t j = 0; j < cols; ++j) row[j] *= inverse;
    }
  }
}

template std::int64_t orthonormal_rows_scratch<float>(std::int64_t, std::int64_t);
template std::int64_t orthonormal_rows_scratch<double>(std::int64_t, std::int64_t);
template void orthonormal_rows<float>(float*, std::int64_t, std::int64_t, double*, float*);
template void orthonormal_rows<double>(double*, std::int64_t, std::int64_t, double*, double*);

}  // namespace trasmuon::cpu
