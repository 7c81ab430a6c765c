// SPDX-License-Identifier: Apache-2.0
#include "lab/data/images/normalize.h"

#include <cmath>

namespace trasmuon::lab {

ChannelStatistics imagenet_statistics() { return {{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}}; }

void normalize(const Image& image, const ChannelStatistics& statistics, std::span<float> out) {
  for (int channel = 0; channel < image.channels; ++channel) {
    const auto c = static_cast<std::size_t>(channel);
    const float scale = 1 / (255 * statistics.deviation[c]), shift = -statistics.mean[c] / statistics.deviation[c];
    const auto plane = image.plane(channel);
    float* target = out.data() + c * plane.size();
    for (const std::uint8_t pixel : plane) *target++ = static_cast<float>(pixel) * scale + shift;
  }
}

void erase_randomly(std::span<float> image, int channels, int height, int width, const RandomErasing& settings,
                    SampleRandom& random) {
  if (!random.coin(settings.probability)) return;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = random.uniform(settings.least_area, settings.most_area) * height * width;
    const double limit = std::log(settings.least_aspect), aspect = std::exp(random.uniform(limit, -limit));
    const int h = static_cast<int>(std::lround(std::sqrt(area * aspect)));
    const int w = static_cast<int>(std::lround(std::sqrt(area / aspect)));
    if (h >= height || w >= width) continue;
    const std::int64_t top = random.below(height - h + 1), left = random.below(width - w + 1);
    for (int channel = 0; channel < channels; ++channel) {
      for (std::int64_t y = top; y < top + h; ++y) {
        float* row = image.data() + (channel * std::int64_t{height} + y) * width;
        for (std::int64_t x = left; x < left + w; ++x) row[x] = static_cast<float>(random.normal());
      }
    }
    return;
  }
}

}  // namespace trasmuon::lab
