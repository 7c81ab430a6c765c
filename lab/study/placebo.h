// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace trasmuon::lab {

/// Returns the columns whose damping a placebo gives to columns 0, 1, ...: a fixed permutation without fixed points
/// (for more than one column), drawn with the seed.
std::vector<int> placebo_columns(int dim, std::uint64_t seed);

}  // namespace trasmuon::lab
