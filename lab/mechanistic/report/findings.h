// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/mechanistic/report/evidence.h"

namespace trasmuon::lab {

/// Sentences that are computed from the numbers of these runs: what each control shows.
std::vector<std::string> mechanistic_findings(const MechanisticGroups& groups, const Evidence& evidence);

/// Share of a damped method's effect on a log scale that its control keeps, given both as ratios: method / noclip and
/// method / control. 1: the control does as much; 0: it does nothing.
double kept_share(double method_to_noclip, double method_to_control);

}  // namespace trasmuon::lab
