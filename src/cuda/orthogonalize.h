// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <span>

#include "cuda/runtime/device_info.h"
#include "stages/matrix.h"
#include "stages/plan.h"

namespace trasmuon::cuda {

/// out[i] <- NS(in[i]) outside any step; all matrices have the same shape. Returns when it is done.
void orthogonalize(const DeviceInfo& device, std::span<const MatrixView> in, std::span<const MatrixView> out,
                   const OrthogonalizeStage& stage, cudaStream_t stream);

}  // namespace trasmuon::cuda
