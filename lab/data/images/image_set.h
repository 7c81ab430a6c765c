// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "lab/data/images/image.h"

namespace trasmuon::lab {

/// Labelled images of one size in memory: bytes of channels x height x width, one plane per channel.
struct ImageSet {
  std::int64_t channels = 0, height = 0, width = 0, classes = 0;
  std::vector<std::uint8_t> pixels;  ///< count x channels x height x width
  std::vector<std::uint8_t> labels;  ///< count, all < classes

  std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
  std::size_t image_bytes() const { return static_cast<std::size_t>(channels * height * width); }
  std::span<const std::uint8_t> image(std::int64_t i) const {
    return std::span(pixels).subspan(static_cast<std::size_t>(i) * image_bytes(), image_bytes());
  }
  Image copy(std::int64_t i) const;  ///< image i, to be augmented
  std::int64_t label(std::int64_t i) const { return labels[static_cast<std::size_t>(i)]; }
};

enum class Split { train, test };

/// Where Debian's package dataset-fashion-mnist puts its files.
constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

/// Reads one of the known sets. `name`: cifar10, cifar100 (fine labels), mnist, fashion-mnist. `folder`: where its
/// files are; empty: kFashionMnistFolder, for fashion-mnist only.
/// Throws Error with the file's name if one is missing, truncated or has a label out of range.
ImageSet read_image_set(const std::string& name, const std::filesystem::path& folder, Split split);

/// Mean and standard deviation of each channel over the training images, pixels divided by 255.
struct ChannelStatistics {
  std::vector<float> mean, deviation;
};
ChannelStatistics channel_statistics(const ImageSet& set);

}  // namespace trasmuon::lab
