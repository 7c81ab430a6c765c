// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "lab/data/images/image_set.h"

namespace trasmuon::lab {

/// The binary files of CIFAR: records of one label (CIFAR-10), or a coarse and a fine label (CIFAR-100, of which the
/// fine one is used), and 3 x 32 x 32 pixels.
struct CifarFormat {
  int label_bytes;       ///< 1 or 2; the last one is the label
  std::int64_t classes;  ///< 10 or 100
};
constexpr CifarFormat kCifar10{1, 10}, kCifar100{2, 100};

/// Appends the records of a file to the set. Throws Error with `name` unless there are `records` of them (0: at least
/// one) and all labels are below the number of classes.
void append_cifar(std::span<const std::uint8_t> file, const std::filesystem::path& name, const CifarFormat& format,
                  std::int64_t records, ImageSet& set);

/// Reads data_batch_1.bin ... data_batch_5.bin or test_batch.bin (CIFAR-10), train.bin or test.bin (CIFAR-100), in the
/// folder or in its cifar-10-batches-bin or cifar-100-binary.
ImageSet read_cifar(const std::filesystem::path& folder, const CifarFormat& format, Split split);

}  // namespace trasmuon::lab
