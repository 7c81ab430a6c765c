// SPDX-License-Identifier: Apache-2.0
#include "cuda/sizes.h"

#include <algorithm>

namespace trasmuon::test {

std::vector<Item> mixed_items() {
  return {{{5, 7}},          {{33, 65}},      {{67, 130}}, {{130, 67}}, {{70, 150}, true},
          {{150, 71}, true}, {{64, 100}},     {{64, 100}}, {{1, 40}},   {{48, 40}, false, {16, 32}},
          {{3, 24, 20}},     {{24, 5, 3, 3}}, {{9, 1100}}, {{200, 36}}};
}

int steps_of(int on_gpu) { return std::clamp(on_gpu / 20, std::min(on_gpu, 6), on_gpu); }

}  // namespace trasmuon::test
