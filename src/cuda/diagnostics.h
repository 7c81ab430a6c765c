// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/blas.h"
#include "cuda/kernels.h"
#include "trasmuon/diagnostics.h"

namespace trasmuon::cuda {

/// What the last step did to matrix `index` of a batch, measured now from what it left in state and
/// scratch. `x` is the host's copy of its row in the table. Waits for the device, takes and gives
/// back memory: not for use while a graph is recorded.
Diagnostics measure(const StepMemory& step, const DeviceMatrix& x, int index, const Blas& blas);

/// How often the matrix has been in a step since its tables were made, active or not.
std::int64_t runs_of(const StepMemory& step, int index);

}  // namespace trasmuon::cuda
