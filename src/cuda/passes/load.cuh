// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "cuda/passes/step_data.h"

// Loads and stores of four neighbouring elements of any type.
namespace trasmuon::cuda {

template <class E>
struct alignas(4 * sizeof(E)) Four {
  E x[4];
};
template <>
struct alignas(16) Four<double> {  // 16 bytes is the widest load
  double x[4];
};

template <class T, class E>
__device__ __forceinline__ T widen(E x) {
  if constexpr (sizeof(E) == 2) return static_cast<T>(static_cast<float>(x));
  else return static_cast<T>(x);
}

template <class E, class T>
__device__ __forceinline__ E narrow(T x) {
  if constexpr (sizeof(E) == 2) return E(static_cast<float>(x));
  else return static_cast<E>(x);
}

template <class E>
__device__ __forceinline__ E* row_of(const DeviceView& view, int i) {
  return static_cast<E*>(view.data) + i * view.row_stride;
}

template <class E>
__device__ __forceinline__ bool aligned4(const DeviceView& view) {
  return view.row_stride % 4 == 0 && reinterpret_cast<std::uintptr_t>(view.data) % alignof(Four<E>) == 0;
}

/// Loads elements [j, j + 4) of a row; zeros from `cols` on. `aligned`: rows start at a multiple of four elements.
template <class T, class E>
__device__ __forceinline__ void load4(const E* row, int j, int cols, bool aligned, T (&x)[4]) {
  if (aligned && j + 4 <= cols) {
    const Four<E> four = *reinterpret_cast<const Four<E>*>(row + j);
#pragma unroll
    for (int k = 0; k < 4; ++k) x[k] = widen<T>(four.x[k]);
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) x[k] = j + k < cols ? widen<T>(row[j + k]) : T(0);
}

/// Whether every four elements of a row are inside the row and aligned.
template <class E>
__device__ __forceinline__ bool whole_fours(const DeviceView& view, int cols) {
  return cols % 4 == 0 && aligned4<E>(view);
}

/// Loads elements [j, j + 4) of the rows [first, first + N); rows from `last` on repeat the last one. With `Whole`
/// (see whole_fours) all loads are issued before the first value is used.
template <bool Whole, class E, class T, int N>
__device__ __forceinline__ void load_rows(const DeviceView& view, int first, int last, int j, int cols, T (&x)[N][4]) {
  if constexpr (Whole) {
    Four<E> fours[N];
    const int inside = min(j, cols - 4);
#pragma unroll
    for (int k = 0; k < N; ++k)
      fours[k] = *reinterpret_cast<const Four<E>*>(row_of<E>(view, min(first + k, last - 1)) + inside);
#pragma unroll
    for (int k = 0; k < N; ++k) {
#pragma unroll
      for (int e = 0; e < 4; ++e) x[k][e] = j < cols ? widen<T>(fours[k].x[e]) : T(0);
    }
  } else {
#pragma unroll
    for (int k = 0; k < N; ++k) load4<T>(row_of<E>(view, min(first + k, last - 1)), j, cols, aligned4<E>(view), x[k]);
  }
}

template <class T, class E>
__device__ __forceinline__ void store4(E* row, int j, int cols, bool aligned, const T (&x)[4]) {
  if (aligned && j + 4 <= cols) {
    Four<E> four;
#pragma unroll
    for (int k = 0; k < 4; ++k) four.x[k] = narrow<E>(x[k]);
    *reinterpret_cast<Four<E>*>(row + j) = four;
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (j + k < cols) row[j + k] = narrow<E>(x[k]);
  }
}

/// Stores to the 16-bit weight of an f32 master, if there is one.
template <class T>
__device__ __forceinline__ void store_rounded(const DeviceView& rounded, int i, int j, int cols, const T (&x)[4]) {
  if (rounded.data == nullptr) return;
  if (rounded.dtype == DType::bf16)
    store4(row_of<__nv_bfloat16>(rounded, i), j, cols, aligned4<__nv_bfloat16>(rounded), x);
  else store4(row_of<__half>(rounded, i), j, cols, aligned4<__half>(rounded), x);
}

/// Calls body(E{}) with the element type E of a dtype; with T = double it is always double.
template <class T, class Body>
__device__ __forceinline__ void with_element(DType dtype, Body&& body) {
  if constexpr (sizeof(T) == 8) {
    body(double{});
  } else {
    switch (dtype) {
      case DType::bf16: body(__nv_bfloat16{}); break;
      case DType::f16: body(__half{}); break;
      default: body(float{}); break;
    }
  }
}

/// Calls body(std::true_type) or body(std::false_type).
template <class Body>
__device__ __forceinline__ void with_bool(bool value, Body&& body) {
  if (value) body(std::true_type{});
  else body(std::false_type{});
}

}  // namespace trasmuon::cuda
