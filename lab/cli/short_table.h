// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/records/run_set.h"

namespace trasmuon::lab {

/// Formats the recipe's first part for the terminal: a line per method and point of the grid with the medians over the
/// seeds of these numbers, or of all numbers if none are named. A table wider than `width` columns becomes a list; 0:
/// no limit. Empty while no run is finished.
std::string short_table(const RunSet& set, const std::vector<std::string>& numbers, int width = 0);

}  // namespace trasmuon::lab
