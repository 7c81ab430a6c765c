// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stages/matrix.h"

namespace trasmuon {

/// Consecutive matrices stepped together: [first, first + count).
struct Batch {
  std::size_t first;
  std::size_t count;
};

/// Cuts the list so that a large matrix stands alone and small ones go together, no
/// batch larger than the largest matrix: scratch does not grow with the model.
std::vector<Batch> plan_batches(std::span<const Matrix> matrices);

}  // namespace trasmuon
