// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/report/groups.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace trasmuon::lab {

std::string bases_name(const BasisPair& bases) {
  return std::string(bases.b_basis == std::string_view("identity") ? "V = I" : "V random") + ", bursts on " +
         (bases.burst_basis == std::string_view("columns") ? "columns" : "mixed columns");
}

bool is_kept(const BasisPair& bases) { return bases_name(bases) == bases_name(kKept); }

std::string row_name(const std::string& method, const BasisPair& bases) {
  return is_kept(bases) ? method : method + ", " + bases_name(bases);
}

MechanisticGroups::MechanisticGroups(const RunSet& runs) : runs_(runs) {
  std::set<double> kappas;
  for (const SeedGroup& group : runs_.groups) {
    const Json kappa = setting_of(group, "kappa");
    if (group.part == "table" && kappa.is_number()) kappas.insert(kappa.get<double>());
  }
  if (!kappas.empty() && !kappas.contains(kappa_)) kappa_ = *kappas.rbegin();
}

std::vector<std::string> MechanisticGroups::methods(const std::string& part) const {
  std::vector<std::string> found;
  for (const std::string& method : runs_.methods)
    if (!find_groups(runs_, part, method).empty()) found.push_back(method);
  return found;
}

const SeedGroup* MechanisticGroups::at(const std::string& part, const std::string& method, const Json& settings) const {
  Json point = {{"kappa", kappa_}, {"b_basis", kKept.b_basis}, {"burst_basis", kKept.burst_basis}};
  point.update(settings);
  for (const SeedGroup* group : find_groups(runs_, part, method, point))
    if (!group->runs.empty()) return group;
  return nullptr;
}

const SeedGroup* MechanisticGroups::table(const std::string& method, const BasisPair& bases) const {
  return at("table", method, {{"b_basis", bases.b_basis}, {"burst_basis", bases.burst_basis}});
}

std::vector<const SeedGroup*> MechanisticGroups::sweep(const std::string& method) const {
  return find_groups(runs_, "lr-sweep", method);
}

std::vector<MechanisticGroups::Tuned> MechanisticGroups::tuning(const std::string& method) const {
  std::vector<Tuned> tuned;
  for (const SeedGroup* reported : sweep(method)) {
    const Json scale = setting_of(*reported, "lr_scale");
    if (!scale.is_number() || reported->runs.empty()) continue;
    BySeed losses = by_seed(at("tuning", method, {{"lr_scale", scale}}), "final_median");
    for (const RunRecord& run : reported->runs) losses.erase(run.spec.seed);
    if (!losses.empty()) tuned.push_back({scale.get<double>(), quantile(values_of(losses), 0.5)});
  }
  return tuned;
}

std::optional<double> MechanisticGroups::best_scale(const std::string& method) const {
  const std::vector<Tuned> all = tuning(method);
  const auto best =
      std::min_element(all.begin(), all.end(), [](const Tuned& a, const Tuned& b) { return a.loss < b.loss; });
  return best == all.end() ? std::nullopt : std::optional(best->scale);
}

std::optional<double> MechanisticGroups::matching_scale(const std::string& method, const std::string& target) const {
  const std::vector<Tuned> all = tuning(method), targets = tuning(target);
  const auto wanted = std::find_if(targets.begin(), targets.end(), [](const Tuned& t) { return t.scale == 1; });
  if (wanted == targets.end()) return std::nullopt;
  const auto distance = [&](const Tuned& t) { return std::abs(std::log(t.loss / wanted->loss)); };
  const auto nearest = std::min_element(all.begin(), all.end(),
                                        [&](const Tuned& a, const Tuned& b) { return distance(a) < distance(b); });
  return nearest == all.end() ? std::nullopt : std::optional(nearest->scale);
}

bool MechanisticGroups::at_edge(const std::string& method, double scale) const {
  bool below = false, above = false;
  for (const Tuned& other : tuning(method)) {
    below = below || other.scale < scale;
    above = above || other.scale > scale;
  }
  return !(below && above);
}

}  // namespace trasmuon::lab
