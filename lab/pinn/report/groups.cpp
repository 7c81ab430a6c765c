// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/report/groups.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trasmuon::lab {

namespace {

constexpr const char* kError = "final_rel_l2";

/// Geometric mean; infinite if there is no value.
double mean_error(const SeedGroup* group, const std::vector<std::uint64_t>& left_out) {
  double sum = 0, count = 0;
  for (const auto& [seed, error] : by_seed(group, kError)) {
    if (std::find(left_out.begin(), left_out.end(), seed) != left_out.end()) continue;
    sum += std::log(error);
    ++count;
  }
  return count > 0 ? std::exp(sum / count) : std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<std::string> PinnGroups::methods(const std::string& part) const {
  std::vector<std::string> found;
  for (const std::string& method : runs_.methods)
    if (at(part, method) != nullptr) found.push_back(method);
  return found;
}

double PinnGroups::first_event() const {
  for (const SeedGroup* group : runs_.of_part("table")) {
    const Json step = setting_of(*group, "first_event");
    if (step.is_number()) return step;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

const SeedGroup* best_of(const std::vector<const SeedGroup*>& groups, const std::vector<std::uint64_t>& left_out) {
  const SeedGroup* best = nullptr;
  for (const SeedGroup* group : groups) {
    if (group->runs.empty()) continue;
    if (best == nullptr || mean_error(group, left_out) < mean_error(best, left_out)) best = group;
  }
  return best;
}

BySeed tuned_errors(const std::vector<const SeedGroup*>& sweep) {
  BySeed seeds, tuned;
  for (std::size_t i = 0; i < sweep.size(); ++i) {
    const BySeed errors = by_seed(sweep[i], kError);
    if (i == 0) seeds = errors;
    std::erase_if(seeds, [&](const auto& item) { return !errors.contains(item.first); });
  }
  if (seeds.size() < 2) return tuned;
  for (const auto& [seed, unused] : seeds) tuned[seed] = by_seed(best_of(sweep, {seed}), kError).at(seed);
  return tuned;
}

}  // namespace trasmuon::lab
