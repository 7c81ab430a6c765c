// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/report/comparisons.h"

#include <utility>

#include "lab/report/statistics/sweep.h"

namespace trasmuon::lab {

VisionComparisons::VisionComparisons(const VisionGroups& groups) {
  const auto errors = [&](const char* part, const std::string& method) {
    return by_seed(groups.at(part, method), kValError);
  };
  for (const char* baseline : {"normuon", "muon", "adamw", "noclip"}) {
    const auto compare_in = [&](const char* where, const char* part) {
      add(where, "trasmuon", baseline, errors(part, "trasmuon"), errors(part, baseline));
    };
    compare_in(kSharedRuns, "shared");
    compare_in(kCalmRuns, "no-bursts");
    compare_in(kMatchedRuns, "matched-rms");
    for (const bool nesterov : {false, true}) {
      const auto with = [&](const std::string& method) {
        return by_seed(find_group(groups.runs(), "nesterov", method, {{"nesterov", nesterov}}), kValError);
      };
      add(nesterov ? kNesterovRuns : kPlainRuns, "trasmuon", baseline, with("trasmuon"), with(baseline));
    }
    const auto ratio = [&](const char* part) { return ratios(errors(part, "trasmuon"), errors(part, baseline)); };
    add(kBurstShift, "trasmuon", baseline, ratio("shared"), ratio("no-bursts"));
    add(kTunedRuns, "trasmuon", baseline, tuned(groups.sweep("trasmuon"), kValError),
        tuned(groups.sweep(baseline), kValError));
  }
  for (const char* method : {"normuon", "muon"})
    add(kSharedRuns, method, "adamw", errors("shared", method), errors("shared", "adamw"));
  for (const char* variant : {"trasmuon-default", "trasmuon-released", "trasmuon-history"})
    add(kSharedRuns, "trasmuon", variant, errors("shared", "trasmuon"), errors("shared", variant));
  for (const char* damping : {"permuted", "mean"})
    add(kSharedRuns, "trasmuon", damping, errors("shared", "trasmuon"), by_seed(groups.placebo(damping), kValError));

  std::vector<PairedEffect*> effects;
  for (VisionComparison& comparison : all_) effects.push_back(&comparison.effect);
  adjust_for_all(effects);
}

void VisionComparisons::add(const std::string& where, const std::string& method, const std::string& baseline,
                            const BySeed& ours, const BySeed& theirs) {
  VisionComparison comparison{.where = where,
                              .method = method,
                              .baseline = baseline,
                              .ours = values_of(ours),
                              .theirs = values_of(theirs),
                              .effect = paired_effect(ours, theirs)};
  if (comparison.effect.known()) all_.push_back(std::move(comparison));
}

const VisionComparison* VisionComparisons::find(std::string_view where, std::string_view method,
                                                std::string_view baseline) const {
  for (const VisionComparison& comparison : all_)
    if (comparison.where == where && comparison.method == method && comparison.baseline == baseline) return &comparison;
  return nullptr;
}

}  // namespace trasmuon::lab
