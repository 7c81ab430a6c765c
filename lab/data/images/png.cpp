// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <png.h>
#include <trasmuon/error.h>

#include <vector>

#include "lab/data/images/decode.h"

namespace trasmuon::lab {

const bool kHasPng = true;

Image decode_png(std::span<const std::uint8_t> file, const std::string& name, std::int64_t most_pixels) {
  png_image decoder{};
  decoder.version = PNG_IMAGE_VERSION;
  const auto refuse = [&](const std::string& reason) {
    png_image_free(&decoder);
    throw Error(name + ": " + reason);
  };
  if (png_image_begin_read_from_memory(&decoder, file.data(), file.size()) == 0) refuse(decoder.message);
  if (std::int64_t{decoder.width} * decoder.height > most_pixels) {
    refuse(
        fmt::format("an image must have at most {} pixels, got {} x {}", most_pixels, decoder.height, decoder.width));
  }
  decoder.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> rows(PNG_IMAGE_SIZE(decoder));
  const png_color black{};
  if (png_image_finish_read(&decoder, &black, rows.data(), 0, nullptr) == 0) refuse(decoder.message);
  return image_of_rows(rows, static_cast<int>(decoder.height), static_cast<int>(decoder.width));
}

}  // namespace trasmuon::lab
