// SPDX-License-Identifier: Apache-2.0
#include <png.h>
#include <trasmuon/error.h>

#include <vector>

#include "lab/data/decode.h"

namespace trasmuon::lab {

Image decode_png(std::span<const std::uint8_t> file, const std::string& name) {
  png_image decoder{};
  decoder.version = PNG_IMAGE_VERSION;
  const auto refuse = [&](const std::string& reason) {
    png_image_free(&decoder);
    throw Error(name + ": " + reason);
  };
  if (png_image_begin_read_from_memory(&decoder, file.data(), file.size()) == 0) refuse(decoder.message);
  if (std::int64_t{decoder.width} * decoder.height > kMostPixels) refuse("an image must have at most 2^27 pixels");
  decoder.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> rows(PNG_IMAGE_SIZE(decoder));
  const png_color black{};
  if (png_image_finish_read(&decoder, &black, rows.data(), 0, nullptr) == 0) refuse(decoder.message);
  Image image(3, static_cast<int>(decoder.height), static_cast<int>(decoder.width));
  for (std::size_t i = 0; i < image.plane_size(); ++i) {
    for (int channel = 0; channel < 3; ++channel)
      image.plane(channel)[i] = rows[3 * i + static_cast<std::size_t>(channel)];
  }
  return image;
}

}  // namespace trasmuon::lab
