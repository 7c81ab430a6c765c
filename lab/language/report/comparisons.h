// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/language/report/groups.h"
#include "lab/report/paired.h"

namespace trasmuon::lab {

/// A quantity of TrasMuon (method "trasmuon", the paper's rule) against that of another method, paired by seed.
struct LanguageComparison {
  std::string where;     ///< the runs, in words
  std::string quantity;  ///< kSteps or kPerplexity
  std::string baseline;  ///< the method's name in the recipe, or the control's
  Spread ours, theirs;
  PairedEffect effect;
};

inline constexpr const char *kWarm = "shared rate, with warm-up", *kCold = "shared rate, without warm-up",
                            *kTuned = "each at its best rate", *kMatched = "update RMS matched",
                            *kNesterov = "both with Nesterov, shared rate",
                            *kPlain = "both without Nesterov, shared rate",
                            *kNesterovTuned = "both with Nesterov, each at its best rate", *kControls = "damping",
                            *kIteration = "four steps of minimax4";
inline constexpr const char *kSteps = "steps to the target loss", *kPerplexity = "final validation perplexity";

/// The ratio as text; a run that never reaches the target loss is called so.
std::string effect_text(const LanguageComparison& comparison);
/// What it tells, in words. Perplexities are about equal if the whole interval lies within a factor of
/// kEqualPerplexity, steps within 1.25.
std::string conclusion(const LanguageComparison& comparison);
inline constexpr double kEqualPerplexity = 1.02;  ///< 0.02 nats

/// All comparisons of the report, their p-values corrected for their number together.
class LanguageComparisons {
 public:
  explicit LanguageComparisons(const LanguageGroups& groups);

  const std::vector<LanguageComparison>& all() const { return all_; }
  /// The comparison, or null if one side has no runs.
  const LanguageComparison* find(std::string_view where, std::string_view quantity, std::string_view baseline) const;

 private:
  void add(const std::string& where, const std::string& quantity, const std::string& baseline, const BySeed& ours,
           const BySeed& theirs);
  void add_both(const std::string& where, const std::string& baseline, const SeedGroup* ours, const SeedGroup* theirs);

  std::vector<LanguageComparison> all_;
};

}  // namespace trasmuon::lab
