// SPDX-License-Identifier: Apache-2.0
#include "lab/records/run_set.h"

#include <trasmuon/error.h>

#include <optional>
#include <set>
#include <utility>

#include "lab/records/files.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

/// The group that a planned run belongs to; added to the set for its first run.
SeedGroup& group_of(RunSet& set, const Json& planned) {
  const std::string part = planned.at("part"), method = planned.at("method");
  const Json& axes = planned.at("axes");
  for (SeedGroup& group : set.groups) {
    if (group.part == part && group.method == method && group.axes == axes) return group;
  }
  return set.groups.emplace_back(SeedGroup{.part = part, .method = method, .axes = axes});
}

/// The run's record; a damaged one is only noted.
std::optional<RunRecord> read_or_note(const fs::path& run, std::set<std::string>& seen, RunSet& set) {
  try {
    return read_record(run);
  } catch (const Error& error) {
    if (seen.insert(run.string()).second) set.damaged.emplace_back(error.what());
    return {};
  }
}

RunSet read_plan(const Json& plan, const fs::path& folder) {
  RunSet set{.name = plan.at("name"),
             .title = plan.at("title"),
             .study = plan.at("study"),
             .command = plan.at("command"),
             .parts = plan.at("parts"),
             .methods = plan.at("methods"),
             .groups = {}};
  std::set<std::string> damaged;  // parts may share a run
  for (const Json& planned : plan.at("runs")) {
    SeedGroup& group = group_of(set, planned);
    ++group.planned;
    const fs::path run = folder / "runs" / planned.at("id").get<std::string>();
    if (auto record = read_or_note(run, damaged, set)) group.runs.push_back(std::move(*record));
  }
  return set;
}

}  // namespace

std::vector<double> SeedGroup::values(const std::string& key) const {
  std::vector<double> values;
  for (const RunRecord& run : runs) values.push_back(run.value(key));
  return values;
}

const SeedGroup* RunSet::find(std::string_view part, std::string_view method, const Json& axes) const {
  for (const SeedGroup& group : groups) {
    if (group.part == part && group.method == method && group.axes == axes) return &group;
  }
  return nullptr;
}

std::vector<const SeedGroup*> RunSet::of_part(std::string_view part) const {
  std::vector<const SeedGroup*> found;
  for (const SeedGroup& group : groups) {
    if (group.part == part) found.push_back(&group);
  }
  return found;
}

std::size_t RunSet::planned() const {
  std::size_t count = 0;
  for (const SeedGroup& group : groups) count += group.planned;
  return count;
}

std::size_t RunSet::finished() const {
  std::size_t count = 0;
  for (const SeedGroup& group : groups) count += group.runs.size();
  return count;
}

RunSet load_runs(const fs::path& folder) {
  const fs::path plan = folder / "plan.json";
  if (!fs::exists(plan)) throw Error(folder.string() + ": contains no runs (no plan.json); `trasmuon run` makes them");
  try {
    return read_plan(read_json(plan), folder);
  } catch (const Json::exception& error) {
    throw Error(plan.string() + ": damaged: " + error.what() + "; the `trasmuon run` that made it writes it again");
  } catch (const fs::filesystem_error& error) {
    throw Error(plan.string() + ": damaged: " + error.what());
  }
}

}  // namespace trasmuon::lab
