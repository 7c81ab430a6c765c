// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/records/run_set.h"
#include "lab/report/stats.h"

namespace trasmuon::lab {

/// What a cell ran with: its place on the part's axes, else the study's setting or the optimizer's field that its runs
/// share. Null if no run says.
Json setting_of(const Cell& cell, const std::string& key);

/// The cells of a part, any part or method if empty, that ran with these settings; what is not known matches.
/// A recipe that fixes a setting has no axis for it, so axes alone do not identify a cell.
std::vector<const Cell*> find_cells(const RunSet& runs, const std::string& part, const std::string& method,
                                    const Json& settings = Json::object());
const Cell* find_cell(const RunSet& runs, const std::string& part, const std::string& method,
                      const Json& settings = Json::object());  ///< the first, or null

/// A summary's value by seed. The losses and errors of a diverged run, null in its summary, are infinite. Empty for no
/// cell.
BySeed by_seed(const Cell* cell, const std::string& key);
std::vector<double> values_of(const Cell* cell, const std::string& key);
Spread spread_of(const Cell* cell, const std::string& key);

/// A method against a baseline in one quantity of which less is better.
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
Comparison compare(const Cell* method, const Cell* baseline, const std::string& key);

/// Runs finished and asked for, over all cells or one.
struct Progress {
  std::size_t finished = 0, planned = 0;
};
Progress progress_of(const RunSet& runs);

}  // namespace trasmuon::lab
