// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/report/statistics/groups.h"
#include "lab/vision/report/paper_numbers.h"

namespace trasmuon::lab {

inline constexpr const char* kValError = "final_val_error";  ///< the summary's number that methods are judged by

/// Finds the groups that the report needs. The recipe's parts are "shared" (the paper's comparison), "no-bursts",
/// "controls", "sweep", "matched-rms" and "nesterov"; the method that the paper proposes is "trasmuon".
class VisionGroups {
 public:
  explicit VisionGroups(const RunSet& runs) : runs_(runs) {}

  const RunSet& runs() const { return runs_; }
  const SeedGroup* at(const std::string& part, const std::string& method) const {
    return find_group(runs_, part, method);
  }
  /// The method's runs without bursts, at the shared learning rate.
  const SeedGroup* calm(const std::string& method) const { return at(bursts() ? "no-bursts" : "shared", method); }
  const SeedGroup* placebo(const std::string& damping) const {
    return find_group(runs_, "controls", "trasmuon", {{"damping", damping}});
  }
  std::vector<const SeedGroup*> sweep(const std::string& method) const { return find_groups(runs_, "sweep", method); }
  std::vector<std::string> methods(const std::string& part) const;  ///< that the part has, in the recipe's order

  /// The setting of the first group of part "shared" that has runs; null if none has.
  Json setting(const std::string& key) const;
  bool bursts() const;  ///< in part "shared"
  PaperTable paper_table() const;

 private:
  const RunSet& runs_;
};

}  // namespace trasmuon::lab
