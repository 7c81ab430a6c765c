// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/data/images/image.h"
#include "lab/data/images/resize.h"
#include "lab/data/sample_random.h"

namespace trasmuon::lab {

struct CropRange {
  double least_area = 0.08, most_area = 1;               ///< of the image's area
  double least_aspect = 3.0 / 4, most_aspect = 4.0 / 3;  ///< width / height
};

/// Chooses a box as torchvision's RandomResizedCrop: area and logarithm of the aspect ratio are uniform; after ten
/// boxes that do not fit, the largest centred one with an allowed aspect.
PixelBox random_box(int height, int width, const CropRange& range, SampleRandom& random);

/// Resizes a random box to size x size, bicubic, antialiased.
Image random_resized_crop(const Image& image, int size, SampleRandom& random, const CropRange& range = {});

/// Shifts the image by up to `padding` pixels in each direction; what comes in is black. For CIFAR.
Image random_crop(const Image& image, int padding, SampleRandom& random);

/// Mirrors left and right.
void flip(Image& image);

/// The view for evaluation: the shorter side resized to size / share, bicubic, then the size x size at the centre.
Image centre_view(const Image& image, int size, double share = 0.875);

}  // namespace trasmuon::lab
