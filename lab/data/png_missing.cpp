// SPDX-License-Identifier: Apache-2.0
#include <trasmuon/error.h>

#include "lab/data/decode.h"

namespace trasmuon::lab {

Image decode_png(std::span<const std::uint8_t>, const std::string& name) {
  throw Error(name + ": is a PNG file, and this build has no libpng. On Debian `tools/setup lab`, then build again");
}

}  // namespace trasmuon::lab
