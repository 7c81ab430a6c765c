// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/pinn/report/comparisons.h"
#include "lab/pinn/report/groups.h"
#include "lab/report/document.h"

namespace trasmuon::lab {

/// The paper's claims about this study (it prints no numbers), each with what these runs show. Claims without
/// runs are left out.
Table pinn_claims(const PinnGroups& groups, const PinnComparisons& comparisons);

/// Sentences that are computed from the numbers of these runs.
std::vector<std::string> pinn_findings(const PinnGroups& groups, const PinnComparisons& comparisons);

}  // namespace trasmuon::lab
