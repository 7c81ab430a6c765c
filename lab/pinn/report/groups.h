// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/report/groups.h"

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

/// The group with the lowest geometric mean of the final error, over the seeds that are not `left_out`; null if none.
const SeedGroup* best_of(const std::vector<const SeedGroup*>& groups, const std::vector<std::uint64_t>& left_out = {});

/// The final error of each seed of a sweep at the learning rate that is best for the other seeds. Only of seeds that
/// were run at every rate; empty if there are fewer than two.
BySeed tuned_errors(const std::vector<const SeedGroup*>& sweep);

}  // namespace trasmuon::lab
