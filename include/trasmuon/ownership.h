// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trasmuon/export.h"

namespace trasmuon {

/// Which rank does which piece of work.
struct Ownership {
  std::vector<int> owners;    ///< one rank per piece
  std::vector<double> loads;  ///< sum of costs per rank
  double balance = 1;         ///< largest load over the mean; 1 if there is no work
  int idle = 0;               ///< ranks whose load is zero
};

/// Distributes pieces of work over ranks: the most expensive first, each to the rank with the least so far; then pieces
/// are moved and exchanged between the busiest rank and the others while that helps. The result depends on the
/// arguments alone. The largest load is at most the mean plus the largest cost, so `balance` is below 1.05 wherever no
/// piece costs more than a twentieth of the mean load. Throws Error unless ranks > 0 and all costs are finite and >= 0.
TRASMUON_API Ownership assign_owners(std::span<const double> costs, int ranks);

/// Estimates the multiplications of the Newton-Schulz iteration on an m x n matrix, in the cheaper of its two forms.
TRASMUON_API double iteration_cost(std::int64_t m, std::int64_t n, int steps);

}  // namespace trasmuon
