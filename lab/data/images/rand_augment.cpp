// SPDX-License-Identifier: Apache-2.0
#include "lab/data/images/rand_augment.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lab/data/images/adjust.h"

namespace trasmuon::lab {
namespace {

constexpr double kMostMagnitude = 10;

Image rotated(const Image& image, double degrees, const FillColour& fill) {
  const double angle = degrees * std::numbers::pi / 180, c = std::cos(angle), s = std::sin(angle);
  const double x = image.width / 2.0, y = image.height / 2.0;  // the centre stays
  return warp(image, {c, -s, x - c * x + s * y, s, c, y - s * x - c * y}, fill);
}

}  // namespace

Image warp(const Image& image, const std::array<double, 6>& matrix, const FillColour& fill) {
  Image out(image.channels, image.height, image.width);
  const auto [a, b, c, d, e, f] = matrix;
  std::size_t at = 0;
  for (int row = 0; row < image.height; ++row) {
    for (int column = 0; column < image.width; ++column, ++at) {
      const double x = a * (column + 0.5) + b * (row + 0.5) + c, y = d * (column + 0.5) + e * (row + 0.5) + f;
      const bool inside = x >= 0 && x < image.width && y >= 0 && y < image.height;
      if (!inside) {
        for (int channel = 0; channel < image.channels; ++channel) {
          out.plane(channel)[at] = fill[static_cast<std::size_t>(channel % 3)];
        }
        continue;
      }
      const double left = std::floor(x - 0.5), top = std::floor(y - 0.5), dx = x - 0.5 - left, dy = y - 0.5 - top;
      // Half a pixel at the border has no neighbour outside and repeats itself.
      const auto index = [&](double px, double py) {
        const int cx = std::clamp(static_cast<int>(px), 0, image.width - 1);
        const int cy = std::clamp(static_cast<int>(py), 0, image.height - 1);
        return static_cast<std::size_t>(cy) * static_cast<std::size_t>(image.width) + static_cast<std::size_t>(cx);
      };
      const std::size_t i00 = index(left, top), i01 = index(left + 1, top), i10 = index(left, top + 1),
                        i11 = index(left + 1, top + 1);
      for (int channel = 0; channel < image.channels; ++channel) {
        const auto plane = image.plane(channel);
        const double upper = plane[i00] + dx * (plane[i01] - plane[i00]);
        const double lower = plane[i10] + dx * (plane[i11] - plane[i10]);
        out.plane(channel)[at] = static_cast<std::uint8_t>(upper + dy * (lower - upper) + 0.5);
      }
    }
  }
  return out;
}

void augment(Image& image, Augmentation augmentation, double magnitude, const FillColour& fill, SampleRandom& random) {
  const double share = magnitude / kMostMagnitude;
  const auto either_way = [&](double most) { return random.coin() ? share * most : -share * most; };
  const auto factor = [&] { return std::max(0.1, 1 + either_way(0.9)); };
  switch (augmentation) {
    case Augmentation::stretch_contrast: return stretch_contrast(image);
    case Augmentation::equalize: return equalize(image);
    case Augmentation::invert: return invert(image);
    case Augmentation::rotate: image = rotated(image, either_way(30), fill); return;
    case Augmentation::posterize: return posterize(image, 4 - static_cast<int>(share * 4));
    case Augmentation::solarize: return solarize(image, 256 - static_cast<int>(share * 256));
    case Augmentation::solarize_add: return solarize_add(image, static_cast<int>(share * 110));
    case Augmentation::colour: return adjust_colour(image, factor());
    case Augmentation::contrast: return adjust_contrast(image, factor());
    case Augmentation::brightness: return adjust_brightness(image, factor());
    case Augmentation::sharpness: return adjust_sharpness(image, factor());
    case Augmentation::shear_x: image = warp(image, {1, either_way(0.3), 0, 0, 1, 0}, fill); return;
    case Augmentation::shear_y: image = warp(image, {1, 0, 0, either_way(0.3), 1, 0}, fill); return;
    case Augmentation::translate_x: image = warp(image, {1, 0, either_way(0.45) * image.width, 0, 1, 0}, fill); return;
    case Augmentation::translate_y: image = warp(image, {1, 0, 0, 0, 1, either_way(0.45) * image.height}, fill); return;
  }
}

void rand_augment(Image& image, const RandAugment& settings, SampleRandom& random) {
  for (int i = 0; i < settings.operations; ++i) {
    const auto augmentation = static_cast<Augmentation>(random.below(kAugmentationCount));
    if (!random.coin(settings.probability)) continue;
    const double magnitude = settings.magnitude + settings.deviation * random.normal();
    augment(image, augmentation, std::clamp(magnitude, 0.0, kMostMagnitude), settings.fill, random);
  }
}

}  // namespace trasmuon::lab
