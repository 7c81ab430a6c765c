// SPDX-License-Identifier: Apache-2.0
#include "lab/data/images/decode.h"

#include <trasmuon/error.h>

#include <algorithm>
#include <array>

#include "lab/data/mapped_file.h"

namespace trasmuon::lab {
namespace {

template <std::size_t Size>
bool starts_with(std::span<const std::uint8_t> file, const std::array<std::uint8_t, Size>& bytes) {
  return file.size() >= Size && std::equal(bytes.begin(), bytes.end(), file.begin());
}

}  // namespace

Image decode_image(std::span<const std::uint8_t> file, const std::string& name, std::int64_t most_pixels) {
  constexpr std::array<std::uint8_t, 3> kJpeg = {0xff, 0xd8, 0xff};
  constexpr std::array<std::uint8_t, 4> kPng = {0x89, 'P', 'N', 'G'};
  if (starts_with(file, kJpeg)) return decode_jpeg(file, name, most_pixels);
  if (starts_with(file, kPng)) return decode_png(file, name, most_pixels);
  throw Error(name + ": is neither a JPEG nor a PNG file");
}

Image image_of_rows(std::span<const std::uint8_t> rows, int height, int width) {
  Image image(3, height, width);
  const std::uint8_t* from = rows.data();
  std::uint8_t *red = image.plane(0).data(), *green = image.plane(1).data(), *blue = image.plane(2).data();
  for (std::size_t i = 0; i < image.plane_size(); ++i) {
    red[i] = *from++;
    green[i] = *from++;
    blue[i] = *from++;
  }
  return image;
}

Image read_image(const std::filesystem::path& file) { return decode_image(MappedFile(file).bytes(), file.string()); }

}  // namespace trasmuon::lab
