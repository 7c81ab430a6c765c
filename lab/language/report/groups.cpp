// SPDX-License-Identifier: Apache-2.0
#include "lab/language/report/groups.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trasmuon::lab {

std::vector<std::string> LanguageGroups::methods(const std::string& part) const {
  std::vector<std::string> found;
  for (const std::string& method : runs_.methods)
    if (find_group(runs_, part, method) != nullptr) found.push_back(method);
  return found;
}

const SeedGroup* LanguageGroups::shared(const std::string& method, bool warmup) const {
  for (const char* part : {"shared", "no-warmup"}) {
    for (const SeedGroup* group : find_groups(runs_, part, method)) {
      const Json share = setting_of(*group, "warmup_share");
      if (share.is_number() && (share > 0) == warmup) return group;
    }
  }
  return nullptr;
}

const SeedGroup* LanguageGroups::nesterov(const std::string& method, bool nesterov) const {
  return find_group(runs_, "nesterov", method, {{"nesterov", nesterov}});
}

const SeedGroup* LanguageGroups::control(const std::string& damping) const {
  return find_group(runs_, "controls", "trasmuon", {{"damping", damping}});
}

const SeedGroup* LanguageGroups::iteration(const std::string& method, int steps,
                                           const std::string& coefficients) const {
  return find_group(runs_, "iteration", method, {{"ns_steps", steps}, {"coefficients", coefficients}});
}

Json LanguageGroups::setting(const std::string& key) const {
  for (const SeedGroup& group : runs_.groups)
    if (Json value = setting_of(group, key); !value.is_null()) return value;
  return nullptr;
}

BySeed steps_to_target(const SeedGroup* group) {
  BySeed steps = by_seed(group, kStepsToTarget);
  for (auto& [seed, value] : steps)
    if (std::isnan(value)) value = std::numeric_limits<double>::infinity();
  return steps;
}

BySeed perplexity(BySeed losses) {
  for (auto& [seed, loss] : losses) loss = std::exp(loss);
  return losses;
}

}  // namespace trasmuon::lab
