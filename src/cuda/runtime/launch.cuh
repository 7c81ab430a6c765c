// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

namespace trasmuon::cuda {

/// Enqueues a kernel: `grid` blocks of `block` threads. Errors show at the next check(). The tests on the host put
/// a header of their own in the place of this one.
template <class... Parameters>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream,
            std::type_identity_t<Parameters>... arguments) {
  kernel<<<grid, block, 0, stream>>>(arguments...);
}

}  // namespace trasmuon::cuda
