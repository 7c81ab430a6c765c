// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/report/pinn_cells.h"
#include "lab/report/study_reports.h"

namespace trasmuon::lab {

Illustration pinn_curves(const PinnCells& cells);
Illustration pinn_spread(const PinnCells& cells);
Illustration pinn_step_sizes(const PinnCells& cells);
Illustration pinn_sweep(const PinnCells& cells);
Illustration pinn_regions(const PinnCells& cells);

}  // namespace trasmuon::lab
