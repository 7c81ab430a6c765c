// SPDX-License-Identifier: Apache-2.0
#include "support/cuda_memory.h"

#include "tools/cuda_memory.h"

namespace trasmuon::test {

std::unique_ptr<Memory> make_cuda_memory() { return std::make_unique<CudaMemory>(); }

}  // namespace trasmuon::test
