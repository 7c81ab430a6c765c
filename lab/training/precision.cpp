// SPDX-License-Identifier: Apache-2.0
#include "lab/training/precision.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/cuda.h>
#include <trasmuon/error.h>

namespace trasmuon::lab {

at::DeviceType device_type(const TrainingSettings& settings) { return settings.device == "cpu" ? at::kCPU : at::kCUDA; }

at::Device training_device(const TrainingSettings& settings) {
  if (device_type(settings) == at::kCPU) return at::kCPU;
  if (!torch::cuda::is_available()) throw Error("device must be cpu: this LibTorch finds no GPU, got 'cuda'");
  return {at::kCUDA, 0};
}

void use_precision(const TrainingSettings& settings) {
  at::set_num_threads(settings.threads);
  const bool tf32 = settings.precision != "f32";
  at::globalContext().setAllowTF32CuBLAS(tf32);
  at::globalContext().setAllowTF32CuDNN(tf32);
}

std::optional<at::ScalarType> product_type(const TrainingSettings& settings) {
  if (settings.precision != "bf16") return std::nullopt;
  return at::kBFloat16;
}

void wait_for(const at::Device& device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

}  // namespace trasmuon::lab
