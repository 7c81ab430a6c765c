// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/passes/step_data.h"
#include "cuda/runtime/blas.h"
#include "trasmuon/diagnostics.h"

namespace trasmuon::cuda {

/// Diagnostics of the last step of matrix `index` of a batch, computed from the state and scratch that the step left.
/// `x` is the host's copy of its DeviceMatrix. Waits for the device and allocates memory, so not during a capture.
Diagnostics measure(const StepTables& step, const DeviceMatrix& x, int index, const Blas& blas);

/// Number of steps of the matrix since its tables were made, active or not.
std::int64_t runs_of(const StepTables& step, int index);

}  // namespace trasmuon::cuda
