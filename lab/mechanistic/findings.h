// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/mechanistic/groups.h"
#include "lab/report/document.h"

namespace trasmuon::lab {

/// The paper's claims about this study, each with what these runs show. Claims without runs are left out.
Table mechanistic_claims(const MechanisticGroups& groups);

/// Sentences that are computed from the numbers of these runs.
std::vector<std::string> mechanistic_findings(const MechanisticGroups& groups);

}  // namespace trasmuon::lab
