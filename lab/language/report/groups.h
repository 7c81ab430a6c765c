// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/report/statistics/groups.h"
#include "lab/report/statistics/sweep.h"

namespace trasmuon::lab {

/// Finds the groups that the report needs. The recipes' parts are
///   shared        every method at one learning rate, with and without warm-up (warmup_share 0.1 and 0)
///   no-warmup     the same without, where it is not in `shared`
///   variants      readings of TrasMuon, with warm-up
///   sweep         every method at multiples (lr_scale) of its own rate
///   matched-rms   rates fitted to one RMS of an update
///   nesterov      the matrix rules with and without Nesterov momentum
///   nesterov-sweep  the matrix rules with it at multiples of their own rates
///   iteration     coefficients of Newton-Schulz and numbers of steps
///   controls      TrasMuon's damping in other columns, or as its mean
class LanguageGroups {
 public:
  explicit LanguageGroups(const RunSet& runs) : runs_(runs) {}

  const RunSet& runs() const { return runs_; }
  std::vector<std::string> methods(const std::string& part) const;  ///< that the part has, in the recipe's order
  const SeedGroup* shared(const std::string& method, bool warmup) const;
  const SeedGroup* nesterov(const std::string& method, bool nesterov) const;
  const SeedGroup* control(const std::string& damping) const;  ///< of method trasmuon
  const SeedGroup* iteration(const std::string& method, int steps, const std::string& coefficients) const;
  const SeedGroup* matched(const std::string& method) const { return find_group(runs_, "matched-rms", method); }
  std::vector<const SeedGroup*> sweep(const std::string& method) const { return find_groups(runs_, "sweep", method); }
  std::vector<const SeedGroup*> nesterov_sweep(const std::string& method) const {
    return find_groups(runs_, "nesterov-sweep", method);
  }
  /// A setting of the first group that has it; null if there is no run.
  Json setting(const std::string& key) const;

 private:
  const RunSet& runs_;
};

inline constexpr const char* kFinalLoss = "final_val_loss";  ///< the number that sweeps are judged by
inline constexpr const char* kStepsToTarget = "steps_to_target";

/// Steps to the target loss by seed; a run that never reaches it counts as infinite.
BySeed steps_to_target(const SeedGroup* group);
/// exp(loss) by seed, so that ratios are e^(difference of losses).
BySeed perplexity(BySeed losses);

}  // namespace trasmuon::lab
