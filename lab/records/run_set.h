// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lab/records/run_record.h"

namespace trasmuon::lab {

/// The runs of one method at one point of a part's grid: they differ only in the seed.
struct SeedGroup {
  std::string part, method;
  Json axes;
  std::vector<RunRecord> runs;
  std::size_t planned = 0;  ///< runs that the recipe asks for; more than runs.size() when unfinished
  std::vector<double> values(const std::string& key) const;  ///< one per run
};

/// All runs in one output folder, in the recipe's order.
struct RunSet {
  std::string name, title, study, command;
  std::vector<std::string> parts, methods;
  std::vector<SeedGroup> groups;
  std::vector<std::string> damaged = {};  ///< file and reason of each run that was left out because of its record

  std::size_t planned() const;   ///< runs of all groups; a run that two parts share counts twice
  std::size_t finished() const;  ///< likewise
  /// The group, or null. `axes` must name every axis of the part.
  const SeedGroup* find(std::string_view part, std::string_view method, const Json& axes = Json::object()) const;
  std::vector<const SeedGroup*> of_part(std::string_view part) const;
};

/// Reads FOLDER/plan.json and the finished runs of the plan; those with a damaged record count as unfinished. Throws
/// Error if there is no plan or it is damaged.
RunSet load_runs(const std::filesystem::path& folder);

}  // namespace trasmuon::lab
