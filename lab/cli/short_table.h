// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lab/records/run_set.h"

namespace trasmuon::lab {

/// The recipe's first part for the terminal: a line per method and point of the grid, medians over the seeds. Empty
/// while no run is finished.
std::string short_table(const RunSet& set);

}  // namespace trasmuon::lab
