// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "lab/data/image.h"

namespace trasmuon::lab {

/// Decodes a JPEG or PNG file, whichever its first bytes say, to three channels: grey is repeated, CMYK converted,
/// transparency put on black. Throws Error with `name` if it is neither, damaged, cut off or has more than 2^27 pixels,
/// or if this build has no library for it.
Image decode_image(std::span<const std::uint8_t> file, const std::string& name);

Image read_image(const std::filesystem::path& file);

// Compiled from jpeg.cpp and png.cpp, or jpeg_missing.cpp and png_missing.cpp, which refuse.
Image decode_jpeg(std::span<const std::uint8_t> file, const std::string& name);
Image decode_png(std::span<const std::uint8_t> file, const std::string& name);

constexpr std::int64_t kMostPixels = std::int64_t{1} << 27;

}  // namespace trasmuon::lab
