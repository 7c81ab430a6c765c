// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/mechanistic/closed_loop.h"
#include "lab/mechanistic/report/groups.h"
#include "lab/report/figures/illustration.h"

namespace trasmuon::lab {

Illustration seed_spread(const MechanisticGroups& groups);
Illustration around_a_burst(const MechanisticGroups& groups);
Illustration closed_loop_window(const MechanisticGroups& groups);
Illustration response_by_phase(const ClosedLoop& loop);
Illustration control_spread(const MechanisticGroups& groups, const std::string& method);
Illustration loss_curves(const MechanisticGroups& groups);
Illustration learning_rate_sweep(const MechanisticGroups& groups);

}  // namespace trasmuon::lab
