// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <span>

#include "cuda/passes/step_data.h"
#include "cuda/plan.h"
#include "cuda/runtime/stream.h"

namespace trasmuon::cuda {

/// Enqueues one step of a group. `tables`: one per batch, the plan's own or copies that the caller keeps.
void enqueue_step(const GroupPlan& plan, std::span<const StepTables> tables, SideStream& side, cudaStream_t stream);

}  // namespace trasmuon::cuda
