// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/data/images/image.h"

namespace trasmuon::lab {

/// A rectangle of an image, in pixels.
struct PixelBox {
  int top = 0, left = 0, height = 0, width = 0;
};

enum class Filter { bilinear, bicubic };  ///< bicubic with a = -0.5, as Pillow's

/// Resizes a box of the image, which must lie in it. Antialiased as Pillow's resize: where the image shrinks, the
/// filter is wider by the same factor. Only pixels of the box are used.
/// Within one grey level of Pillow 13 where both sides shrink or both grow; otherwise it chooses another order of
/// passes.
Image resize(const Image& image, const PixelBox& box, int height, int width, Filter filter);

/// Resizes the whole image so that its shorter side is `size`.
Image resize_shorter_side(const Image& image, int size, Filter filter);

}  // namespace trasmuon::lab
