// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/report/statistics/groups.h"
#include "lab/report/statistics/sweep.h"

namespace trasmuon::lab {

/// Finds the groups that the report needs. The recipe's parts are "table", "no-events", "matched-rms", "lr-sweep",
/// "nesterov" and "adamw-search".
class PinnGroups {
 public:
  explicit PinnGroups(const RunSet& runs) : runs_(runs) {}

  const RunSet& runs() const { return runs_; }
  const SeedGroup* at(const std::string& part, const std::string& method) const {
    return find_group(runs_, part, method);
  }
  const SeedGroup* table(const std::string& method) const { return at("table", method); }
  std::vector<std::string> methods(const std::string& part) const;  ///< that the part has, in the recipe's order
  std::vector<const SeedGroup*> sweep(const std::string& method) const {
    return find_groups(runs_, "lr-sweep", method);
  }
  double first_event() const;  ///< NaN if there is no run to read it from

 private:
  const RunSet& runs_;
};

inline constexpr const char* kFinalError = "final_rel_l2";  ///< the summary's number that sweeps are judged by

}  // namespace trasmuon::lab
