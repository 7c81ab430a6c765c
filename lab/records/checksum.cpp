// SPDX-License-Identifier: Apache-2.0
#include "lab/records/checksum.h"

#include <fmt/format.h>

namespace trasmuon::lab {

std::string Checksum::text() const { return fmt::format("{:016x}", value_); }

std::string checksum(std::string_view text) {
  Checksum sum;
  sum.add(text);
  return sum.text();
}

}  // namespace trasmuon::lab
