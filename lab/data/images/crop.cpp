// SPDX-License-Identifier: Apache-2.0
#include "lab/data/images/crop.h"

#include <algorithm>
#include <cmath>

namespace trasmuon::lab {

PixelBox random_box(int height, int width, const CropRange& range, SampleRandom& random) {
  const double area = static_cast<double>(height) * width;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double wanted = area * random.uniform(range.least_area, range.most_area);
    const double aspect = std::exp(random.uniform(std::log(range.least_aspect), std::log(range.most_aspect)));
    const int w = static_cast<int>(std::lround(std::sqrt(wanted * aspect)));
    const int h = static_cast<int>(std::lround(std::sqrt(wanted / aspect)));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const int top = static_cast<int>(random.below(height - h + 1)),
              left = static_cast<int>(random.below(width - w + 1));
    return {top, left, h, w};
  }
  const double aspect = static_cast<double>(width) / height;
  int w = width, h = height;
  if (aspect < range.least_aspect) h = std::max(1, static_cast<int>(std::lround(w / range.least_aspect)));
  else if (aspect > range.most_aspect) w = std::max(1, static_cast<int>(std::lround(h * range.most_aspect)));
  return {(height - h) / 2, (width - w) / 2, h, w};
}

Image random_resized_crop(const Image& image, int size, SampleRandom& random, const CropRange& range) {
  return resize(image, random_box(image.height, image.width, range, random), size, size, Filter::bicubic);
}

Image random_crop(const Image& image, int padding, SampleRandom& random) {
  const int down = static_cast<int>(random.below(2 * padding + 1)) - padding;
  const int right = static_cast<int>(random.below(2 * padding + 1)) - padding;
  Image out(image.channels, image.height, image.width);
  const int columns = image.width - std::abs(right);
  if (columns <= 0) return out;
  for (int channel = 0; channel < image.channels; ++channel) {
    for (int y = std::max(0, down); y < std::min(image.height, image.height + down); ++y) {
      const auto from =
          image.plane(channel).subspan(static_cast<std::size_t>(y - down) * static_cast<std::size_t>(image.width) +
                                           static_cast<std::size_t>(std::max(0, -right)),
                                       static_cast<std::size_t>(columns));
      std::copy(from.begin(), from.end(),
                out.plane(channel).begin() + static_cast<std::ptrdiff_t>(y) * image.width + std::max(0, right));
    }
  }
  return out;
}

void flip(Image& image) {
  for (auto row = image.pixels.begin(); row != image.pixels.end(); row += image.width) {
    std::reverse(row, row + image.width);
  }
}

Image centre_view(const Image& image, int size, double share) {
  const int shorter = static_cast<int>(std::floor(size / share));
  const Image resized = resize_shorter_side(image, shorter, Filter::bicubic);
  const int top = static_cast<int>(std::lround((resized.height - size) / 2.0));
  const int left = static_cast<int>(std::lround((resized.width - size) / 2.0));
  Image out(image.channels, size, size);
  for (int channel = 0; channel < image.channels; ++channel) {
    for (int y = 0; y < size; ++y) {
      const auto from = resized.plane(channel).subspan(
          static_cast<std::size_t>(top + y) * static_cast<std::size_t>(resized.width) + static_cast<std::size_t>(left),
          static_cast<std::size_t>(size));
      std::copy(from.begin(), from.end(), out.plane(channel).begin() + static_cast<std::ptrdiff_t>(y) * size);
    }
  }
  return out;
}

}  // namespace trasmuon::lab
