// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/report/mechanistic_cells.h"
#include "lab/report/study_reports.h"

namespace trasmuon::lab {

Illustration seed_spread(const MechanisticCells& cells);
Illustration around_a_burst(const MechanisticCells& cells);
Illustration closed_loop_window(const MechanisticCells& cells);
Illustration loss_curves(const MechanisticCells& cells);
Illustration learning_rate_sweep(const MechanisticCells& cells);
Illustration stiffness(const MechanisticCells& cells);

}  // namespace trasmuon::lab
