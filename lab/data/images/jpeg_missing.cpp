// SPDX-License-Identifier: Apache-2.0
#include <trasmuon/error.h>

#include "lab/data/images/decode.h"

namespace trasmuon::lab {

const bool kHasJpeg = false;

Image decode_jpeg(std::span<const std::uint8_t>, const std::string& name, std::int64_t) {
  throw Error(name + ": is a JPEG file, and this build has no libjpeg. On Debian `tools/setup lab`, then build again");
}

}  // namespace trasmuon::lab
