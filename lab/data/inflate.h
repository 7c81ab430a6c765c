// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trasmuon::lab {

/// Decompresses a gzip file, of several members too. Throws Error with `name` as read_maybe_compressed() does.
/// Compiled from inflate.cpp, or inflate_missing.cpp, which refuses.
extern const bool kHasGzip;  ///< whether this build can
std::vector<std::uint8_t> inflate_gzip(std::span<const std::uint8_t> compressed, const std::string& name);

}  // namespace trasmuon::lab
