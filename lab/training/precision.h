// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include "lab/training/settings.h"

namespace trasmuon::lab {

/// Returns the device of the settings. Throws Error if this LibTorch or this machine does not have it.
at::Device training_device(const TrainingSettings& settings);

/// Sets threads, and whether f32 products on CUDA may use TF32: with precision tf32, and with bf16 for the few products
/// that stay f32 there.
void use_precision(const TrainingSettings& settings);

/// While it exists, the model's products are computed in the precision of the settings: torch's autocast for bf16.
/// Weights, gradients and what needs it (softmax, norms, losses) stay f32.
class Autocast {
 public:
  explicit Autocast(const TrainingSettings& settings);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool active_;
  at::DeviceType device_;
};

/// Waits until the device has done what was enqueued; nothing on the CPU.
void wait_for(const at::Device& device);

}  // namespace trasmuon::lab
