// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/ownership.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/number_text.h"
#include "trasmuon/error.h"

namespace trasmuon {
namespace {

int lightest(const std::vector<double>& loads) {
  return static_cast<int>(std::min_element(loads.begin(), loads.end()) - loads.begin());
}
int heaviest(const std::vector<double>& loads) {
  return static_cast<int>(std::max_element(loads.begin(), loads.end()) - loads.begin());
}

/// A piece that leaves the busiest rank, and the piece that it gets in return, if any.
struct Exchange {
  std::size_t from = 0, to = 0;
  int rank = -1;  ///< the other rank; -1: none helps
  bool back = false;
  double largest = 0;  ///< load of the two ranks after it
};

/// Finds the exchange after which the larger load of the two ranks is smallest.
Exchange best_exchange(std::span<const double> costs, const Ownership& plan) {
  const int busiest = heaviest(plan.loads);
  const auto load = [&](int rank) { return plan.loads[static_cast<std::size_t>(rank)]; };
  // Not for a gain of rounding errors.
  Exchange best{.largest = load(busiest) * (1 - 1e-9)};
  const auto consider = [&](std::size_t from, std::size_t to, int rank, bool back, double moved) {
    const double largest = std::max(load(busiest) - moved, load(rank) + moved);
    if (largest < best.largest) best = {from, to, rank, back, largest};
  };
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (plan.owners[i] != busiest) continue;
    const int free = lightest(plan.loads);
    if (free != busiest) consider(i, i, free, false, costs[i]);
    for (std::size_t k = 0; k < costs.size(); ++k) {
      if (plan.owners[k] != busiest && costs[k] < costs[i]) consider(i, k, plan.owners[k], true, costs[i] - costs[k]);
    }
  }
  return best;
}

void measure(std::span<const double> costs, Ownership& plan) {
  std::fill(plan.loads.begin(), plan.loads.end(), 0.0);
  for (std::size_t i = 0; i < costs.size(); ++i) plan.loads[static_cast<std::size_t>(plan.owners[i])] += costs[i];
  const double total = std::accumulate(plan.loads.begin(), plan.loads.end(), 0.0);
  const double mean = total / static_cast<double>(plan.loads.size());
  plan.balance = mean > 0 ? *std::max_element(plan.loads.begin(), plan.loads.end()) / mean : 1;
  plan.idle = static_cast<int>(std::count(plan.loads.begin(), plan.loads.end(), 0.0));
}

}  // namespace

Ownership assign_owners(std::span<const double> costs, int ranks) {
  if (ranks <= 0) throw Error("assign_owners: ranks must be > 0, got " + std::to_string(ranks));
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (!(costs[i] >= 0) || std::isinf(costs[i])) {
      throw Error("assign_owners: costs must be finite and >= 0, got " + shortest(costs[i]) + " for piece " +
                  std::to_string(i));
    }
  }
  Ownership plan;
  plan.owners.resize(costs.size());
  plan.loads.resize(static_cast<std::size_t>(ranks));
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  for (const std::size_t i : order) {
    plan.owners[i] = lightest(plan.loads);
    plan.loads[static_cast<std::size_t>(plan.owners[i])] += costs[i];
  }
  measure(costs, plan);
  constexpr double kBalanced = 1.05;
  // Every exchange makes the busiest rank less busy; the limit is for time, not for termination.
  for (std::size_t left = 4 * plan.loads.size(); left > 0 && plan.balance > kBalanced; --left) {
    const Exchange found = best_exchange(costs, plan);
    if (found.rank < 0) break;
    const int busiest = plan.owners[found.from];
    if (found.back) plan.owners[found.to] = busiest;
    plan.owners[found.from] = found.rank;
    measure(costs, plan);
  }
  return plan;
}

double iteration_cost(std::int64_t m, std::int64_t n, int steps) {
  const double s = static_cast<double>(std::min(m, n)), l = static_cast<double>(std::max(m, n)), count = steps;
  // Symmetric products count half: X X^T, its square, and the product with X; or, on R = X X^T alone, the square of R
  // and three more products of squares per step, before the product with X.
  const double standard = count * (s * s * l / 2 + s * s * s / 2 + s * s * l);
  const double gram = s * s * l / 2 + count * 2 * s * s * s + s * s * l;
  return steps <= 0 ? 0 : std::min(standard, gram);
}

}  // namespace trasmuon
