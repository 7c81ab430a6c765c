// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "lab/data/images/image.h"
#include "lab/data/sample_random.h"

namespace trasmuon::lab {

/// Fills where a geometric change leaves nothing, per channel; usually the mean colour of the data.
using FillColour = std::array<std::uint8_t, 3>;

/// Samples the image at a x + b y + c, d x + e y + f for the output's pixel centre (x, y): bilinear, `fill` outside.
Image warp(const Image& image, const std::array<double, 6>& matrix, const FillColour& fill);

/// What RandAugment chooses from: the list of timm's `rand-...-inc1`, in which all effects grow with the magnitude.
enum class Augmentation {
  stretch_contrast,
  equalize,
  invert,
  rotate,
  posterize,
  solarize,
  solarize_add,
  colour,
  contrast,
  brightness,
  sharpness,
  shear_x,
  shear_y,
  translate_x,
  translate_y
};
constexpr int kAugmentationCount = 15;

/// Applies one of them with a magnitude in [0, 10]. At 10: rotation by 30 degrees, shear by 0.3, translation by 0.45 of
/// the side, 4 bits less of 4 (posterize), threshold 0 (solarize), 110 (solarize_add), factors 1.9 or 0.1 for colour,
/// contrast, brightness and sharpness; less in proportion. `random` chooses between the two directions.
void augment(Image& image, Augmentation augmentation, double magnitude, const FillColour& fill, SampleRandom& random);

struct RandAugment {
  int operations = 2;
  double magnitude = 9, deviation = 0.5;  ///< the magnitude of each is normal, cut off to [0, 10]
  double probability = 0.5;               ///< of each of the operations
  FillColour fill = {124, 116, 104};      ///< ImageNet's mean
};

/// timm's rand-m9-mstd0.5-inc1, the augmentation of DeiT, with bilinear warps.
void rand_augment(Image& image, const RandAugment& settings, SampleRandom& random);

}  // namespace trasmuon::lab
