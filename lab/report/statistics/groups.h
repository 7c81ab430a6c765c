// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/records/run_set.h"
#include "lab/report/statistics/stats.h"

namespace trasmuon::lab {

/// The value that a group ran with: its place on the part's axis of that name, else the study's setting or the
/// optimizer's field. Null if the group has no run to read it from.
Json setting_of(const SeedGroup& group, const std::string& key);

/// Finds the groups of a part and method (empty: any) that ran with these settings; an unknown setting matches. A
/// recipe that fixes a setting has no axis for it, so axes alone do not identify a group.
std::vector<const SeedGroup*> find_groups(const RunSet& runs, const std::string& part, const std::string& method,
                                          const Json& settings = Json::object());
const SeedGroup* find_group(const RunSet& runs, const std::string& part, const std::string& method,
                            const Json& settings = Json::object());  ///< the first, or null

/// A number of the summaries, by seed. Losses and errors of a diverged run, null in its summary, are infinite. Empty
/// for a null group.
BySeed by_seed(const SeedGroup* group, const std::string& key);
std::vector<double> values_of(const SeedGroup* group, const std::string& key);
Spread spread_of(const SeedGroup* group, const std::string& key);

/// A method compared with a baseline in a quantity of which less is better.
struct Comparison {
  Spread method, baseline;
  Pairing pairing;
  Spread factor;  ///< baseline / method, seed by seed
  bool known() const { return pairing.count() > 0; }
  std::string text() const;   ///< "34 against 46, lower in 23 of 24 seeds (p = 3e-6)"
  std::string seeds() const;  ///< "lower in 23/24"

 private:
  std::string side() const;  ///< of most seeds
  std::size_t agreeing() const;
};
Comparison compare(const SeedGroup* method, const SeedGroup* baseline, const std::string& key);

}  // namespace trasmuon::lab
