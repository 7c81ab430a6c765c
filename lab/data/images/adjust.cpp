// SPDX-License-Identifier: Apache-2.0
#include "lab/data/images/adjust.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace trasmuon::lab {
namespace {

std::uint8_t to_byte(double value) { return static_cast<std::uint8_t>(std::clamp(value + 0.5, 0.0, 255.0)); }

/// degenerate + factor * (pixel - degenerate).
std::uint8_t blended(double degenerate, std::uint8_t pixel, double factor) {
  return to_byte(degenerate + factor * (pixel - degenerate));
}

/// Rec. 601 luma, in Pillow's fixed point.
std::vector<std::uint8_t> grey_of(const Image& image) {
  if (image.channels != 3) return {image.pixels.begin(), image.pixels.end()};
  std::vector<std::uint8_t> grey(image.plane_size());
  const auto red = image.plane(0), green = image.plane(1), blue = image.plane(2);
  for (std::size_t i = 0; i < grey.size(); ++i) {
    grey[i] = static_cast<std::uint8_t>((red[i] * 19595 + green[i] * 38470 + blue[i] * 7471 + 0x8000) >> 16);
  }
  return grey;
}

using Table = std::array<std::uint8_t, 256>;

template <class Function>
Table table_of(Function&& function) {
  Table table;
  for (int i = 0; i < 256; ++i) table[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(function(i));
  return table;
}

void apply(const Table& table, std::span<std::uint8_t> pixels) {
  for (std::uint8_t& pixel : pixels) pixel = table[pixel];
}

std::array<std::int64_t, 256> histogram(std::span<const std::uint8_t> pixels) {
  std::array<std::int64_t, 256> counts{};
  for (const std::uint8_t pixel : pixels) ++counts[pixel];
  return counts;
}

}  // namespace

void adjust_brightness(Image& image, double factor) {
  apply(table_of([&](int i) { return to_byte(factor * i); }), image.pixels);
}

void adjust_contrast(Image& image, double factor) {
  const std::vector<std::uint8_t> grey = grey_of(image);
  const double sum = std::accumulate(grey.begin(), grey.end(), 0.0);
  const double mean = std::floor(sum / static_cast<double>(grey.size()) + 0.5);
  apply(table_of([&](int i) { return blended(mean, static_cast<std::uint8_t>(i), factor); }), image.pixels);
}

void adjust_colour(Image& image, double factor) {
  if (image.channels != 3) return;
  const std::vector<std::uint8_t> grey = grey_of(image);
  for (int channel = 0; channel < 3; ++channel) {
    const auto plane = image.plane(channel);
    for (std::size_t i = 0; i < grey.size(); ++i) plane[i] = blended(grey[i], plane[i], factor);
  }
}

void adjust_sharpness(Image& image, double factor) {
  // Pillow's SMOOTH: 5 at the centre, 1 around it, divided by 13; the outermost pixels stay.
  const auto width = static_cast<std::size_t>(image.width);
  for (int channel = 0; channel < image.channels; ++channel) {
    const auto plane = image.plane(channel);
    const std::vector<std::uint8_t> old(plane.begin(), plane.end());
    for (int y = 1; y + 1 < image.height; ++y) {
      for (std::size_t x = 1; x + 1 < width; ++x) {
        const std::size_t at = static_cast<std::size_t>(y) * width + x;
        int sum = 4 * old[at];
        for (const std::size_t row : {at - width, at, at + width}) sum += old[row - 1] + old[row] + old[row + 1];
        plane[at] = blended(std::floor(sum / 13.0 + 0.5), old[at], factor);
      }
    }
  }
}

void invert(Image& image) { solarize(image, 0); }

void solarize(Image& image, int threshold) {
  apply(table_of([&](int i) { return i < threshold ? i : 255 - i; }), image.pixels);
}

void solarize_add(Image& image, int amount) {
  apply(table_of([&](int i) { return i < 128 ? std::min(255, i + amount) : i; }), image.pixels);
}

void posterize(Image& image, int bits) {
  const int mask = bits >= 8 ? 255 : 255 & ~((1 << (8 - bits)) - 1);
  apply(table_of([&](int i) { return i & mask; }), image.pixels);
}

void stretch_contrast(Image& image) {
  for (int channel = 0; channel < image.channels; ++channel) {
    const auto plane = image.plane(channel);
    const auto [low, high] = std::minmax_element(plane.begin(), plane.end());
    const double least = *low, most = *high;
    if (most <= least) continue;
    apply(table_of([&](int i) { return std::clamp((i - least) * 255 / (most - least), 0.0, 255.0); }), plane);
  }
}

void equalize(Image& image) {
  for (int channel = 0; channel < image.channels; ++channel) {
    const auto plane = image.plane(channel);
    const auto counts = histogram(plane);
    const auto last = std::find_if(counts.rbegin(), counts.rend(), [](std::int64_t count) { return count != 0; });
    if (last == counts.rend()) continue;
    const std::int64_t step = (static_cast<std::int64_t>(plane.size()) - *last) / 255;
    if (step == 0) continue;
    std::int64_t sum = step / 2;
    apply(table_of([&](int i) {
            const std::int64_t value = std::min<std::int64_t>(sum / step, 255);
            sum += counts[static_cast<std::size_t>(i)];
            return value;
          }),
          plane);
  }
}

void jitter_colour(Image& image, double strength, SampleRandom& random) {
  std::array<void (*)(Image&, double), 3> changes = {adjust_brightness, adjust_contrast, adjust_colour};
  for (std::int64_t left = 3; left > 1; --left) std::swap(changes[left - 1], changes[random.below(left)]);
  for (const auto change : changes) change(image, random.uniform(1 - strength, 1 + strength));
}

}  // namespace trasmuon::lab
