// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "lab/data/images/image.h"
#include "lab/data/sample_random.h"

namespace trasmuon::lab {

// Changes of brightness and colour, as Pillow's ImageEnhance and ImageOps define them; results are rounded to nearest.
// A factor of 1 changes nothing; 0 gives the image that the name lacks: black, uniform grey, grey, smoothed.
void adjust_brightness(Image& image, double factor);
void adjust_contrast(Image& image, double factor);
void adjust_colour(Image& image, double factor);  ///< saturation; nothing on images with one channel
void adjust_sharpness(Image& image, double factor);

void invert(Image& image);
void solarize(Image& image, int threshold);   ///< inverts pixels >= threshold
void solarize_add(Image& image, int amount);  ///< adds to pixels < 128
void posterize(Image& image, int bits);       ///< keeps the highest `bits` bits of 8
void stretch_contrast(Image& image);          ///< ImageOps.autocontrast, each channel to [0, 255]
void equalize(Image& image);                  ///< ImageOps.equalize, each channel's histogram

/// Brightness, contrast and saturation in random order, each by a factor uniform in [1 - strength, 1 + strength], as
/// timm's ColorJitter without hue. `strength` is in [0, 1].
void jitter_colour(Image& image, double strength, SampleRandom& random);

}  // namespace trasmuon::lab
