// SPDX-License-Identifier: Apache-2.0
#include "sizes.h"

#include <algorithm>
#include <cstdlib>

namespace trasmuon::test {

std::vector<Item> mixed_items() {
  return {{{5, 7}},           {{33, 65}},      {{127, 257}},  {{257, 127}}, {{130, 300}, true},
          {{300, 131}, true}, {{64, 200}},     {{64, 200}},   {{1, 40}},    {{96, 80}, false, {32, 64}},
          {{3, 48, 40}},      {{24, 5, 3, 3}}, {{200, 1100}}, {{1100, 72}}};
}

int steps_of(int on_gpu) {
  const char* most = std::getenv("TRASMUON_MOST_STEPS");  // compute-sanitizer is slow
  return most == nullptr ? on_gpu : std::min(on_gpu, std::max(6, std::atoi(most)));
}

}  // namespace trasmuon::test
