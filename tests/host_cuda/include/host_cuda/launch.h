// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "cuda_runtime.h"

namespace host_cuda {

/// Runs `work` now, or records it where the stream is being captured.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);
/// `thread` is what every thread of every block does. Errors show at cudaGetLastError.
void launch(dim3 grid, dim3 block, cudaStream_t stream, std::function<void()> thread);
/// From now on the last block, the last warp and the last lane come first, and forked streams of a graph come last:
/// what is not ordered by a barrier or an event shows.
void run_backwards(bool value);

}  // namespace host_cuda
