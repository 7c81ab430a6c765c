// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <sstream>
#include <string>

#include "trasmuon/error.h"
#include "trasmuon/tensor.h"

// Converts torch tensors to views of the core. Error texts start with `who`: "parameter 'w'".
namespace trasmuon::libtorch::detail {

template <class T>
std::string text_of(const T& value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

inline DType dtype_of(const torch::Tensor& tensor, const std::string& who) {
  switch (tensor.scalar_type()) {
    case torch::kFloat64: return DType::f64;
    case torch::kFloat32: return DType::f32;
    case torch::kBFloat16: return DType::bf16;
    case torch::kFloat16: return DType::f16;
    default: throw Error(who + ": dtype must be Double, Float, BFloat16 or Half, got " + text_of(tensor.scalar_type()));
  }
}

inline torch::ScalarType scalar_type_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return torch::kFloat64;
    case DType::f32: return torch::kFloat32;
    case DType::bf16: return torch::kBFloat16;
    case DType::f16: return torch::kFloat16;
    case DType::i64: return torch::kInt64;
  }
  throw Error("unknown dtype");
}

/// Returns the shape; a scalar becomes a vector of one element.
inline Shape shape_of(const torch::Tensor& tensor, const std::string& who) {
  const auto sizes = tensor.sizes();
  if (sizes.empty()) return {1};
  if (sizes.size() > Shape::kMaxRank) {
    throw Error(who + ": must have at most " + std::to_string(Shape::kMaxRank) + " dimensions, got shape " +
                text_of(sizes));
  }
  return Shape(std::span(sizes.data(), sizes.size()));
}

inline void check_dense(const torch::Tensor& tensor, const std::string& who) {
  if (tensor.layout() != torch::kStrided) throw Error(who + ": must be dense, got layout " + text_of(tensor.layout()));
}

/// Returns a view of a weight that is contiguous, or a matrix with contiguous rows. Only a shard may be empty.
inline TensorView weight_view(const torch::Tensor& weight, const std::string& who, bool shard = false) {
  check_dense(weight, who);
  if (weight.numel() == 0 && !shard) throw Error(who + ": must not be empty, got shape " + text_of(weight.sizes()));
  TensorView view{weight.data_ptr(), dtype_of(weight, who), shape_of(weight, who), 0};
  if (weight.is_contiguous()) return view;
  const bool dense_rows = weight.dim() == 2 && weight.stride(1) == 1 && weight.stride(0) >= weight.size(1);
  if (!dense_rows) {
    throw Error(who + ": must be contiguous, or a matrix with contiguous rows, got strides " +
                text_of(weight.strides()) + " for shape " + text_of(weight.sizes()));
  }
  view.row_stride = weight.stride(0);
  return view;
}

/// Returns a view of a gradient. `gradient` is replaced by a contiguous copy if necessary, and must outlive the view.
inline TensorView gradient_view(torch::Tensor& gradient, const torch::Tensor& weight, const std::string& who) {
  check_dense(gradient, who);
  if (gradient.device() != weight.device()) {
    throw Error(who + ": must be on " + text_of(weight.device()) + ", as the weight, got device " +
                text_of(gradient.device()));
  }
  gradient = gradient.contiguous().resolve_neg();
  return {gradient.data_ptr(), dtype_of(gradient, who), shape_of(gradient, who), 0};
}

}  // namespace trasmuon::libtorch::detail
