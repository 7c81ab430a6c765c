// SPDX-License-Identifier: Apache-2.0
#include "lab/models/autocast.h"

#include <ATen/autocast_mode.h>
#include <torch/version.h>

namespace trasmuon::lab {
namespace {

// The differences between LibTorch versions: one pair of functions per device kind before 2.4.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
bool enabled(at::DeviceType device) { return at::autocast::is_autocast_enabled(device); }
void enable(at::DeviceType device, bool on) { at::autocast::set_autocast_enabled(device, on); }
at::ScalarType type_of(at::DeviceType device) { return at::autocast::get_autocast_dtype(device); }
void set_type(at::DeviceType device, at::ScalarType type) { at::autocast::set_autocast_dtype(device, type); }
#else
bool enabled(at::DeviceType device) {
  return device == at::kCUDA ? at::autocast::is_enabled() : at::autocast::is_cpu_enabled();
}
void enable(at::DeviceType device, bool on) {
  device == at::kCUDA ? at::autocast::set_enabled(on) : at::autocast::set_cpu_enabled(on);
}
at::ScalarType type_of(at::DeviceType device) {
  return device == at::kCUDA ? at::autocast::get_autocast_gpu_dtype() : at::autocast::get_autocast_cpu_dtype();
}
void set_type(at::DeviceType device, at::ScalarType type) {
  device == at::kCUDA ? at::autocast::set_autocast_gpu_dtype(type) : at::autocast::set_autocast_cpu_dtype(type);
}
#endif

}  // namespace

std::optional<at::ScalarType> autocast_type(at::DeviceType device) {
  if (!enabled(device)) return std::nullopt;
  return type_of(device);
}

AutocastGuard::AutocastGuard(at::DeviceType device, std::optional<at::ScalarType> type)
    : device_(device), before_(autocast_type(device)), cache_before_(at::autocast::is_autocast_cache_enabled()) {
  // A weight that the cache converted without gradients would get none later. Each weight is used once in a pass, so
  // the cache saves nothing.
  at::autocast::set_autocast_cache_enabled(false);
  set(type);
}

AutocastGuard::~AutocastGuard() {
  set(before_);
  at::autocast::set_autocast_cache_enabled(cache_before_);
}

void AutocastGuard::set(std::optional<at::ScalarType> type) {
  if (type) set_type(device_, *type);
  enable(device_, type.has_value());
}

at::Tensor to_product_type(const at::Tensor& tensor) {
  const std::optional<at::ScalarType> type = autocast_type(tensor.device().type());
  return type && tensor.scalar_type() == at::kFloat ? tensor.to(*type) : tensor;
}

}  // namespace trasmuon::lab
