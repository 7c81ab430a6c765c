// SPDX-License-Identifier: Apache-2.0
#include "stages/plan.h"

#include <algorithm>

namespace trasmuon {

std::vector<Batch> plan_batches(std::span<const Matrix> matrices) {
  // Above this a single matrix keeps all threads busy by itself.
  constexpr std::int64_t kSmall = 256 * 256;
  std::int64_t largest = 0;
  for (const Matrix& x : matrices) largest = std::max(largest, x.m * x.n);
  std::vector<Batch> batches;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const std::int64_t size = matrices[i].m * matrices[i].n;
    const bool joins = !batches.empty() && size <= kSmall && elements > 0 && elements + size <= largest;
    if (joins) {
      ++batches.back().count;
      elements += size;
    } else {
      batches.push_back({i, 1});
      elements = size <= kSmall ? size : 0;
    }
  }
  return batches;
}

}  // namespace trasmuon
