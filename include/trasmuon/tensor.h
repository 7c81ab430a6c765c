// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>

#include "trasmuon/export.h"
#include "trasmuon/half.h"

namespace trasmuon {

/// Element types. Weights and gradients are floating-point; i64 is used in state only.
enum class DType : std::uint8_t { f64, f32, bf16, f16, i64 };

TRASMUON_API const char* to_string(DType dtype);
TRASMUON_API std::size_t size_of(DType dtype);

template <class T>
constexpr DType dtype_of() {
  using U = std::remove_const_t<T>;
  if constexpr (std::is_same_v<U, double>) return DType::f64;
  else if constexpr (std::is_same_v<U, float>) return DType::f32;
  else if constexpr (std::is_same_v<U, bf16>) return DType::bf16;
  else if constexpr (std::is_same_v<U, f16>) return DType::f16;
  else {
    static_assert(std::is_same_v<U, std::int64_t>, "element type must be double, float, bf16, f16 or int64_t");
    return DType::i64;
  }
}

/// A shape of up to five dimensions, stored inline.
class TRASMUON_API Shape {
 public:
  static constexpr std::size_t kMaxRank = 5;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(
      std::span<const std::int64_t> dims);  ///< throws Error if the rank exceeds kMaxRank or a size is negative

  std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t i) const { return dims_[i]; }
  std::int64_t elements() const;
  std::span<const std::int64_t> dims() const { return {dims_.data(), rank_}; }
  bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  std::size_t rank_ = 0;
};

TRASMUON_API std::string to_string(const Shape& shape);  ///< "[768, 3072]"

/// A tensor in the caller's memory. Row-major and dense, except that consecutive rows of a
/// matrix (or of each matrix of a batch) may be `row_stride` elements apart. Gradients are only
/// read; weights are read and written.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t row_stride = 0;  ///< in elements; 0 = packed

  explicit operator bool() const { return data != nullptr; }
};

/// Makes a view, whose element type is that of the pointer: view(w.data(), {out, in}).
template <class T>
TensorView view(T* data, Shape shape, std::int64_t row_stride = 0) {
  return {const_cast<std::remove_const_t<T>*>(data), dtype_of<T>(), shape, row_stride};
}

/// Stands for a missing gradient: a step leaves the parameter and its state unchanged.
inline TensorView no_gradient() { return {}; }

}  // namespace trasmuon
