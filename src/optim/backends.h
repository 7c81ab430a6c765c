// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stages/backend.h"
#include "trasmuon/device.h"
#include "trasmuon/tensor.h"

namespace trasmuon {

/// Loads what the device needs; throws Error with the reason if it cannot be used.
std::unique_ptr<Backend> make_backend(Device device);

/// A bf16 or f16 matrix in the device's memory, as f32, packed.
std::vector<float> read_widened(const TensorView& from, std::int64_t rows, std::int64_t cols, Backend& backend);

}  // namespace trasmuon
