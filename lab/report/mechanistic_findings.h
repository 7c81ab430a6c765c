// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/report/document.h"
#include "lab/report/mechanistic_cells.h"

namespace trasmuon::lab {

/// The paper's claims about this study, each with what these runs show; those without runs are left out.
Table mechanistic_claims(const MechanisticCells& cells);

/// Sentences that follow from the numbers; other numbers, other sentences.
std::vector<std::string> mechanistic_findings(const MechanisticCells& cells);

}  // namespace trasmuon::lab
