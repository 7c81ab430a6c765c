// SPDX-License-Identifier: Apache-2.0
#include <trasmuon/error.h>

#include "lab/data/images/decode.h"

namespace trasmuon::lab {

const bool kHasPng = false;

Image decode_png(std::span<const std::uint8_t>, const std::string& name, std::int64_t) {
  throw Error(name + ": is a PNG file, and this build has no libpng. On Debian `tools/setup lab`, then build again");
}

}  // namespace trasmuon::lab
