// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "lab/data/images/image.h"
#include "lab/data/images/image_set.h"
#include "lab/data/sample_random.h"

namespace trasmuon::lab {

/// ImageNet's channel statistics, for image folders.
ChannelStatistics imagenet_statistics();

/// out = (pixel / 255 - mean) / deviation, for channels x height x width pixels; `out` has the image's size.
void normalize(const Image& image, const ChannelStatistics& statistics, std::span<float> out);

struct RandomErasing {
  double probability = 0.25;
  double least_area = 0.02, most_area = 1.0 / 3;  ///< of the image's area
  double least_aspect = 0.3;                      ///< height / width is in [least_aspect, 1 / least_aspect]
};

/// Replaces a random rectangle of a normalized image by standard normal noise, as timm's RandomErasing in mode "pixel".
/// After ten rectangles that do not fit nothing is erased.
void erase_randomly(std::span<float> image, int channels, int height, int width, const RandomErasing& settings,
                    SampleRandom& random);

}  // namespace trasmuon::lab
