// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace trasmuon::lab {

/// Reads a whole file, decompressed if it begins as a gzip file does. Throws Error with the file's name if it cannot be
/// read, is cut off or damaged, has more than 4 GiB, or is compressed and this build has no zlib.
std::vector<std::uint8_t> read_maybe_compressed(const std::filesystem::path& file);

}  // namespace trasmuon::lab
