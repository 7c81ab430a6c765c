// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/report/figures/illustration.h"
#include "lab/vision/report/groups.h"

namespace trasmuon::lab {

Illustration vision_curves(const VisionGroups& groups);
Illustration vision_accuracy(const VisionGroups& groups);
Illustration vision_sweep(const VisionGroups& groups);
Illustration vision_ratios(const VisionGroups& groups);

}  // namespace trasmuon::lab
