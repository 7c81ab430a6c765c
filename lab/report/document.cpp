// SPDX-License-Identifier: Apache-2.0
#include "lab/report/document.h"

#include "lab/report/format.h"

namespace trasmuon::lab {

// Not inline: GCC 12 would warn about uninitialized alternatives of the variant.
void Document::add(Block block) { blocks.push_back(std::move(block)); }

TableCell number_cell(const Spread& spread) {
  if (spread.count == 0) return {"–", "", Tone::muted};
  return {human(spread.median), spread.count > 1 ? human_range(spread) : ""};
}

}  // namespace trasmuon::lab
