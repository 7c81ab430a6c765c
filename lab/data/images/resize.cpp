// SPDX-License-Identifier: Apache-2.0
#include "lab/data/images/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace trasmuon::lab {
namespace {

double bilinear_weight(double x) { return std::max(0.0, 1 - std::abs(x)); }

double bicubic_weight(double x) {  // Keys' kernel
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * kA : 0;
}

/// Which input pixels an output pixel along one axis is made of, and with which weights.
struct Taps {
  int first;
  std::vector<float> weights;  // their sum is 1
};

std::vector<Taps> taps_of(int from, int to, Filter filter) {
  const double scale = static_cast<double>(from) / to, stretch = std::max(scale, 1.0);
  const double support = (filter == Filter::bicubic ? 2 : 1) * stretch;
  std::vector<Taps> all;
  for (int i = 0; i < to; ++i) {
    const double center = (i + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(center - support + 0.5));
    const int end = std::min(from, static_cast<int>(center + support + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (int j = first; j < end; ++j) {
      const double x = (j + 0.5 - center) / stretch;
      weights.push_back(filter == Filter::bicubic ? bicubic_weight(x) : bilinear_weight(x));
      sum += weights.back();
    }
    Taps& taps = all.emplace_back(Taps{first, {}});
    for (const double weight : weights) taps.weights.push_back(static_cast<float>(weight / sum));
  }
  return all;
}

}  // namespace

Image resize(const Image& image, const PixelBox& box, int height, int width, Filter filter) {
  const std::vector<Taps> across = taps_of(box.width, width, filter), down = taps_of(box.height, height, filter);
  Image out(image.channels, height, width);
  std::vector<float> rows(static_cast<std::size_t>(box.height) * static_cast<std::size_t>(width));  // resized across
  std::vector<float> line(static_cast<std::size_t>(width));
  for (int channel = 0; channel < image.channels; ++channel) {
    const auto from = image.plane(channel);
    for (int y = 0; y < box.height; ++y) {
      const std::uint8_t* row = &from[static_cast<std::size_t>(box.top + y) * static_cast<std::size_t>(image.width) +
                                      static_cast<std::size_t>(box.left)];
      float* target = &rows[static_cast<std::size_t>(y) * line.size()];
      for (const Taps& taps : across) {
        float sum = 0;
        for (std::size_t k = 0; k < taps.weights.size(); ++k) {
          sum += taps.weights[k] * static_cast<float>(row[static_cast<std::size_t>(taps.first) + k]);
        }
        *target++ = std::clamp(sum, 0.0F, 255.0F);  // as Pillow, whose rows are bytes
      }
    }
    std::uint8_t* target = out.plane(channel).data();
    for (const Taps& taps : down) {
      std::fill(line.begin(), line.end(), 0.5F);  // rounds to nearest
      for (std::size_t k = 0; k < taps.weights.size(); ++k) {
        const float* row = &rows[(static_cast<std::size_t>(taps.first) + k) * line.size()];
        for (std::size_t x = 0; x < line.size(); ++x) line[x] += taps.weights[k] * row[x];
      }
      for (const float value : line) *target++ = static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F));
    }
  }
  return out;
}

Image resize_shorter_side(const Image& image, int size, Filter filter) {
  const bool wide = image.width >= image.height;
  const double longer = wide ? image.width : image.height, shorter = wide ? image.height : image.width;
  const int other = static_cast<int>(size * longer / shorter);
  const PixelBox whole{0, 0, image.height, image.width};
  return wide ? resize(image, whole, size, other, filter) : resize(image, whole, other, size, filter);
}

}  // namespace trasmuon::lab
