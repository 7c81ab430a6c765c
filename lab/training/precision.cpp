// SPDX-License-Identifier: Apache-2.0
#include "lab/training/precision.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <torch/cuda.h>
#include <torch/version.h>
#include <trasmuon/error.h>

namespace trasmuon::lab {
namespace {

/// LibTorch 1.13 has a function per device, later versions one for all.
void set_autocast(at::DeviceType device, bool enabled) {
#if TORCH_VERSION_MAJOR >= 3 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  at::autocast::set_autocast_dtype(device, at::kBFloat16);
  at::autocast::set_autocast_enabled(device, enabled);
#else
  if (device == at::kCUDA) {
    at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
    at::autocast::set_enabled(enabled);
  } else {
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_cpu_enabled(enabled);
  }
#endif
}

}  // namespace

at::Device training_device(const TrainingSettings& settings) {
  if (settings.device == "cpu") return at::kCPU;
  if (!torch::cuda::is_available()) throw Error("device must be cpu: this LibTorch finds no GPU, got 'cuda'");
  return {at::kCUDA, 0};
}

void use_precision(const TrainingSettings& settings) {
  at::set_num_threads(settings.threads);
  const bool tf32 = settings.precision != "f32";
  at::globalContext().setAllowTF32CuBLAS(tf32);
  at::globalContext().setAllowTF32CuDNN(tf32);
}

Autocast::Autocast(const TrainingSettings& settings)
    : active_(settings.precision == "bf16"), device_(settings.device == "cuda" ? at::kCUDA : at::kCPU) {
  if (!active_) return;
  set_autocast(device_, true);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  set_autocast(device_, false);
}

void wait_for(const at::Device& device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

}  // namespace trasmuon::lab
