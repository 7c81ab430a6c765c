// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace trasmuon::lab {

/// An image: bytes of channels x height x width, one plane per channel, as in an ImageSet.
struct Image {
  int channels = 0, height = 0, width = 0;
  std::vector<std::uint8_t> pixels;

  Image() = default;
  Image(int image_channels, int image_height, int image_width)  ///< black
      : channels(image_channels),
        height(image_height),
        width(image_width),
        pixels(static_cast<std::size_t>(image_channels) * plane_size()) {}

  std::size_t plane_size() const { return static_cast<std::size_t>(height) * static_cast<std::size_t>(width); }
  std::span<std::uint8_t> plane(int channel) {
    return std::span(pixels).subspan(static_cast<std::size_t>(channel) * plane_size(), plane_size());
  }
  std::span<const std::uint8_t> plane(int channel) const {
    return std::span(pixels).subspan(static_cast<std::size_t>(channel) * plane_size(), plane_size());
  }
  bool operator==(const Image&) const = default;
};

}  // namespace trasmuon::lab
