// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/passes/step_data.h"
#include "stages/plan.h"

namespace trasmuon::cuda {

/// The numbers of a plan for the kernels.
StepScalars scalars_of(const Plan& plan);

/// The plan's orthogonalization; null if it has none.
const OrthogonalizeStage* orthogonalization_of(const Plan& plan);

/// Whether a step with plan `b` runs the same kernels as one with plan `a` and differs in scalars only.
bool same_kernels(const Plan& a, const Plan& b);

}  // namespace trasmuon::cuda
