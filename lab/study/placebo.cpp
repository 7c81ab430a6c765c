// SPDX-License-Identifier: Apache-2.0
#include "lab/study/placebo.h"

#include "lab/study/random.h"

namespace trasmuon::lab {

std::vector<int> placebo_columns(int dim, std::uint64_t seed) {
  constexpr std::uint32_t kPlacebo = 102;  // stream of the seed; a study's problem has others
  Random random(seed, kPlacebo);
  const std::vector<int> order = distinct_below(dim, dim, random);
  std::vector<int> columns(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) columns[order[i]] = order[(i + 1) % order.size()];  // one cycle
  return columns;
}

}  // namespace trasmuon::lab
