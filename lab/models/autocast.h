// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <optional>

namespace trasmuon::lab {

/// Returns the type in which matrix products on this kind of device are computed, if mixed precision is on there.
std::optional<at::ScalarType> autocast_type(at::DeviceType device);

/// While it lives, matrix products on this kind of device are computed in the given type (at::kBFloat16), or, without
/// a type, in that of their operands. Weights, norms, softmax and losses stay in f32. For this thread only.
class AutocastGuard {
 public:
  AutocastGuard(at::DeviceType device, std::optional<at::ScalarType> type);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  void set(std::optional<at::ScalarType> type);

  at::DeviceType device_;
  std::optional<at::ScalarType> before_;
  bool cache_before_;
};

/// Returns the tensor in the type of matrix products, for one that several of them read.
at::Tensor to_product_type(const at::Tensor& tensor);

}  // namespace trasmuon::lab
