// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "trasmuon/error.h"

namespace trasmuon::cuda {

/// Throws Error with CUDA's message unless the call succeeded.
inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();  // clears the error, which is reported here
  throw Error(std::string("cuda: ") + what + ": " + cudaGetErrorString(error));
}

}  // namespace trasmuon::cuda
