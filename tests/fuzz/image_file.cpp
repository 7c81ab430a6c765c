// SPDX-License-Identifier: Apache-2.0
// The input is a JPEG or PNG file of at most a million pixels.
#include "fuzz/fuzz.h"
#include "lab/data/images/decode.h"
#include "trasmuon/error.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trasmuon;
  constexpr std::int64_t kMostPixels = 1 << 20;
  try {
    const lab::Image image = lab::decode_image({data, size}, "x", kMostPixels);
    fuzz::require(image.channels == 3 && image.height > 0 && image.width > 0, "an image has pixels");
    fuzz::require(image.pixels.size() == 3 * image.plane_size(), "every pixel is there");
  } catch (const Error&) {
  }
  return 0;
}
