// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/report/document.h"
#include "lab/report/pinn_cells.h"

namespace trasmuon::lab {

/// The paper's claims about this study (it prints no numbers), each with what these runs show; those without runs are
/// left out.
Table pinn_claims(const PinnCells& cells);

/// Sentences that follow from the numbers; other numbers, other sentences.
std::vector<std::string> pinn_findings(const PinnCells& cells);

}  // namespace trasmuon::lab
