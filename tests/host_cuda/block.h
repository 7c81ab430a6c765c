// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <stdexcept>

#include "cuda_runtime.h"

namespace host_cuda {

/// A kernel that would hang or do something undefined on a GPU.
struct KernelError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr unsigned kMostThreads = 1024, kWarp = 32;

/// Runs the blocks of a kernel one after the other. Throws KernelError.
void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread);

}  // namespace host_cuda
