// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "lab/data/images/image.h"

namespace trasmuon::lab {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;

/// Decodes a JPEG or PNG file, whichever its first bytes say, to three channels: grey is repeated, CMYK converted,
/// transparency put on black. Throws Error with `name` if it is neither, damaged, cut off or has more than
/// `most_pixels`, or if this build has no library for it.
Image decode_image(std::span<const std::uint8_t> file, const std::string& name, std::int64_t most_pixels = kMostPixels);

Image read_image(const std::filesystem::path& file);

/// Puts rows of red, green, blue pixels into planes.
Image image_of_rows(std::span<const std::uint8_t> rows, int height, int width);

extern const bool kHasJpeg, kHasPng;  ///< whether this build has a library for them

// Compiled from jpeg.cpp and png.cpp, or jpeg_missing.cpp and png_missing.cpp, which refuse.
Image decode_jpeg(std::span<const std::uint8_t> file, const std::string& name, std::int64_t most_pixels);
Image decode_png(std::span<const std::uint8_t> file, const std::string& name, std::int64_t most_pixels);

}  // namespace trasmuon::lab
