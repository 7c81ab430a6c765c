// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "lab/vision/settings.h"

namespace trasmuon::lab {

/// Images as a model reads them: f32, shifted and scaled by the data set's mean and deviation of each channel.
struct ImageBatch {
  at::Tensor images;  ///< [count, channels, size, size]
  at::Tensor labels;  ///< [count], int64
};

/// The training and test images of a data set, on the CPU.
class Images {
 public:
  virtual ~Images() = default;

  virtual ImageShape shape() const = 0;
  virtual std::int64_t training_count() const = 0;
  virtual std::int64_t test_count() const = 0;

  /// Returns the images at the positions first, first + 1, ... of the training, augmented. Every epoch has each image
  /// once, in an order of its own; order and augmentation are functions of seed and position.
  virtual ImageBatch training_batch(std::uint64_t seed, std::int64_t first, std::int64_t count) = 0;

  /// Returns test images, not augmented.
  virtual ImageBatch test_batch(std::int64_t first, std::int64_t count) = 0;
};

/// Opens the data of the settings. Throws Error with file or package if something is missing or damaged.
std::unique_ptr<Images> open_images(const VisionSettings& settings);

std::unique_ptr<Images> open_image_set(const VisionSettings& settings);     ///< small images, all in memory
std::unique_ptr<Images> open_image_folder(const VisionSettings& settings);  ///< files, decoded ahead in threads

}  // namespace trasmuon::lab
