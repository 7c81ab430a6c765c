// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/pinn/report/groups.h"
#include "lab/report/figures/illustration.h"

namespace trasmuon::lab {

Illustration pinn_curves(const PinnGroups& groups);
Illustration pinn_spread(const PinnGroups& groups);
Illustration pinn_step_sizes(const PinnGroups& groups);
Illustration pinn_sweep(const PinnGroups& groups);
Illustration pinn_regions(const PinnGroups& groups);

}  // namespace trasmuon::lab
