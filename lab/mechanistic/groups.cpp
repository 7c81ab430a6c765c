// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/groups.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "lab/report/curves.h"

namespace trasmuon::lab {

MechanisticGroups::MechanisticGroups(const RunSet& runs) : runs_(runs) {
  const std::vector<double> all = kappas();
  if (!all.empty() && std::find(all.begin(), all.end(), kappa_) == all.end()) kappa_ = all.back();
}

std::vector<double> MechanisticGroups::kappas() const {
  std::set<double> values;
  for (const SeedGroup& group : runs_.groups) {
    const Json kappa = setting_of(group, "kappa");
    if (group.part == "table" && kappa.is_number()) values.insert(kappa.get<double>());
  }
  return {values.begin(), values.end()};
}

Json MechanisticGroups::main_point(bool fix_v) const { return {{"kappa", kappa_}, {"fix_v", fix_v}}; }

std::vector<std::string> MechanisticGroups::methods(const std::string& part) const {
  std::vector<std::string> found;
  for (const std::string& method : runs_.methods)
    if (at(part, method) != nullptr) found.push_back(method);
  return found;
}

const SeedGroup* MechanisticGroups::at(const std::string& part, const std::string& method) const {
  return find_group(runs_, part, method, main_point());
}

const SeedGroup* MechanisticGroups::table(const std::string& method, bool fix_v) const {
  return find_group(runs_, "table", method, main_point(fix_v));
}

std::vector<const SeedGroup*> MechanisticGroups::part(const std::string& name) const {
  return find_groups(runs_, name, "", main_point());
}

std::vector<const SeedGroup*> MechanisticGroups::along_kappa(const std::string& method, bool fix_v) const {
  return find_groups(runs_, "table", method, {{"fix_v", fix_v}});
}

std::vector<const SeedGroup*> MechanisticGroups::sweep(const std::string& method) const {
  return find_groups(runs_, "lr-sweep", method, main_point());
}

const SeedGroup* MechanisticGroups::uniform_c() const {
  Json settings = main_point();
  settings["uniform_c"] = true;
  settings["bursts"] = true;
  for (const SeedGroup* group : find_groups(runs_, "", "", settings))
    if (!group->runs.empty() && setting_of(*group, "lr_scale") == 1 && setting_of(*group, "isotropic_b") != true)
      return group;
  return nullptr;
}

const SeedGroup* MechanisticGroups::smaller_step() const {
  for (const SeedGroup* group : part("uniform")) {
    const Json scale = setting_of(*group, "lr_scale");
    if (scale.is_number() && scale < 1 && setting_of(*group, "uniform_c") != true) return group;
  }
  return nullptr;
}

const SeedGroup* MechanisticGroups::tuned(const std::string& method) const {
  const SeedGroup* best = nullptr;
  for (const SeedGroup* group : sweep(method)) {
    if (group->runs.empty()) continue;
    if (best == nullptr || spread_of(group, "final_loss").median < spread_of(best, "final_loss").median) best = group;
  }
  return best;
}

bool MechanisticGroups::at_edge(const std::string& method) const {
  const SeedGroup* best = tuned(method);
  bool below = false, above = false;
  for (const SeedGroup* group : sweep(method)) {
    if (group->runs.empty()) continue;
    below = below || setting_of(*group, "lr_scale") < setting_of(*best, "lr_scale");
    above = above || setting_of(*group, "lr_scale") > setting_of(*best, "lr_scale");
  }
  return best != nullptr && !(below && above);
}

ClosedLoop closed_loop(const SeedGroup* group) {
  ClosedLoop loop;
  if (group == nullptr) return loop;
  std::vector<double> rises, lowest_before, lowest_after, hit_before, hit_after;
  const Json warmup = setting_of(*group, "warmup");
  for (const RunRecord& run : group->runs) {
    const auto metrics = read_table(run, "metrics");
    if (!metrics) continue;
    const std::vector<double>&step = (*metrics)["step"], &r_max = (*metrics)["r_max"];
    const std::vector<double>&lowest = (*metrics)["c_used_min"], &hit = (*metrics)["c_hit"];
    for (const std::size_t row : event_rows(*metrics)) {
      if (row < 2 || row + 1 >= step.size() || (warmup.is_number() && step[row] <= warmup)) continue;
      ++loop.events;
      rises.push_back(r_max[row] / r_max[row - 1]);
      lowest_before.push_back(lowest[row - 1]);
      lowest_after.push_back(std::min(lowest[row], lowest[row + 1]));
      hit_before.push_back(hit[row - 1]);
      hit_after.push_back(hit[row]);
      loop.energy_rises += rises.back() > 1;
      loop.lowest_falls += lowest_after.back() < lowest_before.back();
      loop.hit_falls += hit_after.back() < hit_before.back();
    }
  }
  loop.rise = quantile(rises, 0.5);
  loop.lowest_before = quantile(lowest_before, 0.5);
  loop.lowest_after = quantile(lowest_after, 0.5);
  loop.hit_before = quantile(hit_before, 0.5);
  loop.hit_after = quantile(hit_after, 0.5);
  return loop;
}

BurstEffect burst_effect(const MechanisticGroups& groups, const std::string& with_bursts,
                         const std::string& without_bursts) {
  const auto factors = [&](const std::string& part) {
    return ratios(by_seed(groups.at(part, "noclip"), "final_loss"), by_seed(groups.at(part, "clip-sf"), "final_loss"));
  };
  const auto fewer_spikes = [&](const std::string& part) {
    return spread_of(values_of(
        differences(by_seed(groups.at(part, "noclip"), "spikes"), by_seed(groups.at(part, "clip-sf"), "spikes"))));
  };
  const BySeed with = factors(with_bursts), without = factors(without_bursts);
  BurstEffect effect;
  effect.with_bursts = spread_of(values_of(with));
  effect.without = spread_of(values_of(without));
  effect.ratio = spread_of(values_of(ratios(with, without)));
  effect.pairing = compare(without, with);
  effect.share = std::log(effect.without.median) / std::log(effect.with_bursts.median);
  effect.spikes_with = fewer_spikes(with_bursts);
  effect.spikes_without = fewer_spikes(without_bursts);
  return effect;
}

}  // namespace trasmuon::lab
