// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "host_cuda/launch.h"

// Takes the place of src/cuda/runtime/launch.cuh: the host's compiler does not know <<<...>>>.
namespace trasmuon::cuda {

template <class... Parameters>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream,
            std::type_identity_t<Parameters>... arguments) {
  host_cuda::launch(grid, block, stream, [=] { kernel(arguments...); });
}

}  // namespace trasmuon::cuda
