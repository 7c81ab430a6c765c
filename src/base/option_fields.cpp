// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/option_fields.h"

#include "base/number_text.h"

namespace trasmuon {

std::string to_string(const Range& range) {
  const bool from = range.low > -std::numeric_limits<double>::infinity();
  const bool to = range.high < std::numeric_limits<double>::infinity();
  if (from && to) {
    return std::string("in ") + (range.low_open ? "(" : "[") + shortest(range.low) + ", " + shortest(range.high) +
           (range.high_open ? ")" : "]");
  }
  if (from) return (range.low_open ? "> " : ">= ") + shortest(range.low);
  if (to) return (range.high_open ? "< " : "<= ") + shortest(range.high);
  return "finite";
}

}  // namespace trasmuon
