// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda.h"

using PFN_cuTensorMapEncodeTiled_v12000 = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t rank, void* data,
                                                       const cuuint64_t* sizes, const cuuint64_t* strides,
                                                       const cuuint32_t* box, const cuuint32_t* steps,
                                                       CUtensorMapInterleave, CUtensorMapSwizzle,
                                                       CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
