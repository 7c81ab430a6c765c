// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <optional>

#include "lab/training/settings.h"

namespace trasmuon::lab {

/// Returns the type of the device of the settings, which may be missing here.
at::DeviceType device_type(const TrainingSettings& settings);

/// Returns the device of the settings. Throws Error if this LibTorch or this machine does not have it.
at::Device training_device(const TrainingSettings& settings);

/// Sets threads, and whether f32 products on CUDA may use TF32: with precision tf32, and with bf16 for the few products
/// that stay f32 there.
void use_precision(const TrainingSettings& settings);

/// Returns the type of the model's products for an AutocastGuard: bf16, or none for that of the weights, f32.
std::optional<at::ScalarType> product_type(const TrainingSettings& settings);

/// Waits until the device has done what was enqueued; nothing on the CPU.
void wait_for(const at::Device& device);

}  // namespace trasmuon::lab
