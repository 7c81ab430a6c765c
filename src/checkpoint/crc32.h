// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace trasmuon {

/// CRC-32 as in zlib and PNG (polynomial 0xEDB88320, reflected).
std::uint32_t crc32(std::span<const std::byte> bytes);

}  // namespace trasmuon
