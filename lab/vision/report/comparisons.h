// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/report/paired.h"
#include "lab/vision/report/groups.h"

namespace trasmuon::lab {

/// The final test error of a method against that of a baseline, paired by seed.
struct VisionComparison {
  std::string where;             ///< the runs, in words: "shared rate"
  std::string method, baseline;  ///< their names in the recipe; of a placebo "permuted" or "mean"
  std::vector<double> ours, theirs;
  PairedEffect effect;  ///< ours against theirs
};

inline constexpr const char *kSharedRuns = "shared rate", *kCalmRuns = "without bursts",
                            *kTunedRuns = "each at its best rate", *kNesterovRuns = "all with Nesterov momentum",
                            *kMatchedRuns = "update RMS matched", *kPlainRuns = "all with plain momentum",
                            *kBurstShift = "ratio with bursts / ratio without";

/// All comparisons of the report, their p-values corrected for their number together.
class VisionComparisons {
 public:
  explicit VisionComparisons(const VisionGroups& groups);

  const std::vector<VisionComparison>& all() const { return all_; }
  /// The comparison, or null if one side has no runs.
  const VisionComparison* find(std::string_view where, std::string_view method, std::string_view baseline) const;

 private:
  void add(const std::string& where, const std::string& method, const std::string& baseline, const BySeed& ours,
           const BySeed& theirs);

  std::vector<VisionComparison> all_;
};

}  // namespace trasmuon::lab
