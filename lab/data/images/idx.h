// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "lab/data/images/image_set.h"

namespace trasmuon::lab {

/// Makes a set of a file with images and a file with labels in the format IDX of MNIST: a big-endian magic number
/// (2051, 2049), the sizes, then bytes. Throws Error with the name of the bad file.
ImageSet parse_idx(std::span<const std::uint8_t> images, const std::filesystem::path& images_name,
                   std::span<const std::uint8_t> labels, const std::filesystem::path& labels_name,
                   std::int64_t classes);

/// Reads {train,t10k}-{images-idx3,labels-idx1}-ubyte of 10 classes, with or without .gz.
ImageSet read_idx(const std::filesystem::path& folder, Split split);

}  // namespace trasmuon::lab
