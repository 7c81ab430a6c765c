// SPDX-License-Identifier: Apache-2.0
#include "lab/report/statistics/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lab/report/statistics/groups.h"

namespace trasmuon::lab {

namespace {

/// Geometric mean; infinite if there is no value.
double mean_of(const SeedGroup* group, const std::string& key, const std::vector<std::uint64_t>& left_out) {
  double sum = 0, count = 0;
  for (const auto& [seed, value] : by_seed(group, key)) {
    if (std::find(left_out.begin(), left_out.end(), seed) != left_out.end()) continue;
    sum += std::log(value);
    ++count;
  }
  return count > 0 ? std::exp(sum / count) : std::numeric_limits<double>::infinity();
}

}  // namespace

const SeedGroup* best_of(const std::vector<const SeedGroup*>& groups, const std::string& key,
                         const std::vector<std::uint64_t>& left_out) {
  const SeedGroup* best = nullptr;
  for (const SeedGroup* group : groups) {
    if (group->runs.empty()) continue;
    if (best == nullptr || mean_of(group, key, left_out) < mean_of(best, key, left_out)) best = group;
  }
  return best;
}

BySeed tuned(const std::vector<const SeedGroup*>& groups, const std::string& key) {
  BySeed seeds, found;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const BySeed values = by_seed(groups[i], key);
    if (i == 0) seeds = values;
    std::erase_if(seeds, [&](const auto& item) { return !values.contains(item.first); });
  }
  if (seeds.size() < 2) return found;
  for (const auto& [seed, unused] : seeds) found[seed] = by_seed(best_of(groups, key, {seed}), key).at(seed);
  return found;
}

}  // namespace trasmuon::lab
