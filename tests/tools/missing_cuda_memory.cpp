// SPDX-License-Identifier: Apache-2.0
#include "tools/cuda_memory.h"
#include "trasmuon/error.h"

namespace trasmuon::test {

std::unique_ptr<Memory> make_cuda_memory() { throw Error("this program was built without CUDA"); }

}  // namespace trasmuon::test
