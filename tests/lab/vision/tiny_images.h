// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "lab/vision/settings.h"

namespace trasmuon::lab {

/// Writes MNIST's four files into the folder: images of 28 x 28 whose class is the row of blocks that is bright, and
/// noise. A network learns them in a few steps.
void write_tiny_mnist(const std::filesystem::path& folder, int training, int test);

/// Settings of a small model on such files.
VisionSettings tiny_settings(const std::filesystem::path& folder);

}  // namespace trasmuon::lab
