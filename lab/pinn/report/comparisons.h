// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/pinn/report/groups.h"
#include "lab/report/paired.h"

namespace trasmuon::lab {

/// A quantity of TrasMuon against that of a baseline, paired by seed.
struct PinnComparison {
  std::string where;     ///< the part, in words: "with events"
  std::string quantity;  ///< "final error"
  std::string baseline;  ///< the method's name in the recipe
  Spread ours, theirs;
  PairedEffect effect;  ///< ours against theirs
};

inline constexpr const char *kTable = "with events", *kCalm = "without events", *kMatched = "step sizes matched",
                            *kTuned = "each at its best rate", *kNesterov = "Nesterov momentum",
                            *kShift = "ratio with events / ratio without";

/// All comparisons of the report, their p-values corrected for their number together.
class PinnComparisons {
 public:
  explicit PinnComparisons(const PinnGroups& groups);

  const std::vector<PinnComparison>& all() const { return all_; }
  /// The comparison, or null if one side has no runs.
  const PinnComparison* find(std::string_view where, std::string_view quantity,
                             std::string_view baseline = "muon") const;

 private:
  void add(const std::string& where, const std::string& quantity, const std::string& baseline, BySeed ours,
           BySeed theirs, double added = 0);
  void add_part(const PinnGroups& groups, const std::string& where, const std::string& part,
                const std::string& baseline);

  std::vector<PinnComparison> all_;
};

}  // namespace trasmuon::lab
