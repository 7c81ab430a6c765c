// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "trasmuon/tensor.h"

namespace trasmuon::cuda {

/// Copies `rows` rows of `cols` elements, `stride` apart in both matrices. The padding between rows is not read.
void enqueue_copy_rows(void* to, const void* from, DType dtype, std::int64_t rows, int cols, std::int64_t stride,
                       cudaStream_t stream);

}  // namespace trasmuon::cuda
