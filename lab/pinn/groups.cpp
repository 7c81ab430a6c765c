// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/groups.h"

#include <limits>

#include "lab/report/curves.h"

namespace trasmuon::lab {

std::vector<std::string> PinnGroups::methods(const std::string& part) const {
  std::vector<std::string> found;
  for (const std::string& method : runs_.methods)
    if (at(part, method) != nullptr) found.push_back(method);
  return found;
}

std::string PinnGroups::sweep_axis() const {
  for (const SeedGroup* group : runs_.of_part("lr-sweep"))
    if (group->axes.contains("lr")) return "lr";
  return "lr_scale";
}

const SeedGroup* PinnGroups::tuned(const std::string& method) const {
  const SeedGroup* best = nullptr;
  for (const SeedGroup* group : sweep(method)) {
    if (group->runs.empty()) continue;
    if (best == nullptr || spread_of(group, "final_rel_l2").median < spread_of(best, "final_rel_l2").median)
      best = group;
  }
  return best;
}

double PinnGroups::first_event() const {
  for (const SeedGroup* group : runs_.of_part("table")) {
    const Json step = setting_of(*group, "first_event");
    if (step.is_number()) return step;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

EventEffect event_effect(const PinnGroups& groups, const std::string& baseline) {
  const auto factors = [&](const std::string& part) {
    return ratios(by_seed(groups.at(part, baseline), "final_rel_l2"),
                  by_seed(groups.at(part, "trasmuon"), "final_rel_l2"));
  };
  const BySeed with = factors("table"), without = factors("no-events");
  return {spread_of(values_of(with)), spread_of(values_of(without)), spread_of(values_of(ratios(with, without))),
          compare(without, with)};
}

BySeed loss_after_events(const SeedGroup* group) {
  BySeed medians;
  if (group == nullptr) return medians;
  const BySeed final_errors = by_seed(group, "final_rel_l2");
  for (const RunRecord& run : group->runs) {
    const auto metrics = read_table(run, "metrics");
    const Json first = setting_of(*group, "first_event");
    if (!metrics || !first.is_number()) continue;
    const std::vector<double>&step = (*metrics)["step"], &loss = (*metrics)["loss"], &event = (*metrics)["event"];
    std::vector<double> calm;
    for (std::size_t row = 0; row < step.size(); ++row)
      if (step[row] >= first && event[row] == 0) calm.push_back(loss[row]);
    const bool diverged = final_errors.at(run.spec.seed) == std::numeric_limits<double>::infinity();
    medians[run.spec.seed] = diverged ? std::numeric_limits<double>::infinity() : quantile(calm, 0.5);
  }
  return medians;
}

}  // namespace trasmuon::lab
