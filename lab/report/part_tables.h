// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lab/records/run_set.h"
#include "lab/report/document.h"

namespace trasmuon::lab {

/// A number of the summaries as a column.
struct NumberColumn {
  std::string key, name;
  bool quartiles = true;
};

/// Adds every group of every part: a row per group with the settings in which its part's groups differ. A part with one
/// long axis becomes a grid of medians for each of the `main` columns, a row per method. `captions` says what a part is
/// for; others are captioned with their name alone.
void add_part_tables(const RunSet& runs, const std::vector<NumberColumn>& columns, std::size_t main,
                     const std::map<std::string, std::string>& captions, Document& document);

/// "damping = blind, burst_phase = 5"; empty for a group without axes.
std::string axes_text(const Json& axes);

}  // namespace trasmuon::lab
