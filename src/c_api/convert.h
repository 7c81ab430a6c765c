// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "c_api/guard.h"
#include "trasmuon/c_api.h"
#include "trasmuon/classify.h"
#include "trasmuon/error.h"
#include "trasmuon/optimizer.h"

// Converts between the structs and enumerations of C and C++.
namespace trasmuon::c_api {

static_assert(TRASMUON_F64 == static_cast<int>(DType::f64) && TRASMUON_F32 == static_cast<int>(DType::f32) &&
              TRASMUON_BF16 == static_cast<int>(DType::bf16) && TRASMUON_F16 == static_cast<int>(DType::f16) &&
              TRASMUON_I64 == static_cast<int>(DType::i64));
static_assert(TRASMUON_LAYOUT_AUTOMATIC == static_cast<int>(Layout::automatic) &&
              TRASMUON_LAYOUT_BATCH == static_cast<int>(Layout::batch) &&
              TRASMUON_LAYOUT_FLATTEN == static_cast<int>(Layout::flatten));
static_assert(TRASMUON_FORM_AUTOMATIC == static_cast<int>(NewtonSchulzForm::automatic) &&
              TRASMUON_FORM_STANDARD == static_cast<int>(NewtonSchulzForm::standard) &&
              TRASMUON_FORM_GRAM == static_cast<int>(NewtonSchulzForm::gram));
static_assert(TRASMUON_FAMILY_MATRIX == static_cast<int>(Family::matrix) &&
              TRASMUON_FAMILY_ADAMW == static_cast<int>(Family::adamw));
static_assert(TRASMUON_MAX_RANK == Shape::kMaxRank);

/// No struct of a later header will be larger: a larger struct_size was never set, and reading that far is not safe.
constexpr std::size_t kLargestStruct = 4096;

/// Runs `body`, and puts the text of `who()` before the text of an Error it throws.
template <class Who, class Body>
auto about(Who&& who, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw Error(who() + ": " + error.what());
  }
}

/// Converts to an enumeration whose last value is `last`; throws Error outside of it.
template <class E>
E to_enum(int value, E last, const char* what) {
  if (value < 0 || value > static_cast<int>(last)) {
    throw Error(std::string(what) + " must be in [0, " + std::to_string(static_cast<int>(last)) + "], got " +
                std::to_string(value));
  }
  return static_cast<E>(value);
}

inline bool to_bool(int value, const char* what) {
  if (value != 0 && value != 1) throw Error(std::string(what) + " must be 0 or 1, got " + std::to_string(value));
  return value == 1;
}

inline Device to_device(int device) {
  if (device < TRASMUON_CPU) throw Error("device must be >= 0, got " + std::to_string(device));
  return device == TRASMUON_CPU ? Device::cpu() : Device::cuda(device - TRASMUON_CUDA);
}

inline Shape to_shape(int rank, const std::int64_t* sizes) {
  if (rank < 0 || rank > TRASMUON_MAX_RANK) {
    throw Error("rank must be in [0, " + std::to_string(TRASMUON_MAX_RANK) + "], got " + std::to_string(rank));
  }
  return Shape(std::span(sizes, static_cast<std::size_t>(rank)));
}

inline TensorView to_view(const trasmuon_tensor& tensor) {
  return {tensor.data, to_enum(tensor.dtype, DType::i64, "dtype"), to_shape(tensor.rank, tensor.shape),
          tensor.row_stride};
}

/// Checks the gradients and returns views of them, which are in `views`.
inline std::span<const TensorView> to_gradients(const trasmuon_tensor* gradients, std::size_t count,
                                                std::vector<TensorView>& views) {
  require_array(gradients, count, "gradients");
  views.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const trasmuon_tensor& g = gradients[i];
    const bool empty = g.rank > 0 && g.rank <= TRASMUON_MAX_RANK && std::count(g.shape, g.shape + g.rank, 0) > 0;
    const bool missing = g.data == nullptr && !empty;
    views.push_back(
        about([&] { return "gradient " + std::to_string(i); }, [&] { return missing ? no_gradient() : to_view(g); }));
  }
  return views;
}

inline trasmuon_tensor from_view(const TensorView& view) {
  trasmuon_tensor tensor{
      view.data, static_cast<int>(view.dtype), static_cast<int>(view.shape.rank()), {}, view.row_stride};
  std::copy(view.shape.dims().begin(), view.shape.dims().end(), tensor.shape);
  return tensor;
}

}  // namespace trasmuon::c_api
