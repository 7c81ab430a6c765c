// SPDX-License-Identifier: Apache-2.0
#include <trasmuon/error.h>

#include "lab/data/inflate.h"

namespace trasmuon::lab {

const bool kHasGzip = false;

std::vector<std::uint8_t> inflate_gzip(std::span<const std::uint8_t>, const std::string& name) {
  throw Error(name + ": is compressed, and this build has no zlib. On Debian `tools/setup lab`, then build again");
}

}  // namespace trasmuon::lab
