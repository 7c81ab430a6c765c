// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/records/run_spec.h"

namespace trasmuon::lab {

/// One run of a plan and its place in the tables: part, method, position on the part's axes, seed.
struct PlannedRun {
  std::string part;
  Json axes;  ///< only what the part varies: {"b_basis": "random", "kappa": 1e4}
  RunSpec spec;
};

/// A recipe, checked and expanded: methods x axes x seeds, part by part.
struct Plan {
  std::string name;  ///< the file's stem
  std::string title;
  std::string study;
  std::vector<std::string> parts, methods;  ///< in the recipe's order
  std::vector<PlannedRun> runs;
};

/// Replaces FOLDER/plan.json, which load_runs reads.
void write_plan(const Plan& plan, const std::filesystem::path& folder, const std::string& command);

}  // namespace trasmuon::lab
