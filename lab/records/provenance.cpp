// SPDX-License-Identifier: Apache-2.0
#include "lab/records/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace trasmuon::lab {
namespace {

std::string machine_text(const Json& machine) {
  std::string text;
  for (const auto& [key, value] : machine.items()) {
    if (value != "") text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, to_text(value));
  }
  return text.empty() ? "unknown machine" : text;
}

}  // namespace

std::vector<Provenance> provenance_of(const RunSet& runs) {
  std::vector<Provenance> found;
  std::set<std::string> seen;
  for (const SeedGroup& group : runs.groups) {
    for (const RunRecord& run : group.runs) {
      if (!seen.insert(run.folder.string()).second) continue;
      const std::string revision = run.revision.empty() ? "unknown revision" : run.revision;
      const std::string machine = machine_text(run.machine);
      auto same = std::find_if(found.begin(), found.end(),
                               [&](const Provenance& p) { return p.revision == revision && p.machine == machine; });
      if (same == found.end()) same = found.insert(found.end(), {revision, machine, 0});
      ++same->runs;
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.runs > b.runs; });
  return found;
}

}  // namespace trasmuon::lab
