// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>

#include "host_cuda/launch.h"

// What the parts of the stand-in know of each other.
namespace host_cuda {

/// Held by every call that touches device memory, streams or captures; a kernel runs under it.
extern std::mutex device;

/// Remembers an error for cudaGetLastError. A kernel that has failed is the error of every call after it.
cudaError_t report(cudaError_t error);
/// Runs a kernel or a copy, unless one has failed before.
cudaError_t run(const std::function<void()>& work);
/// See run_backwards.
bool runs_backwards();
/// Whether a capture forbids this thread to call cudaMalloc and its like; such a call spoils the capture.
cudaError_t refuse_beside_capture();

}  // namespace host_cuda
