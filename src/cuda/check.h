// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "trasmuon/error.h"

namespace trasmuon::cuda {

/// Throws Error with CUDA's own words.
inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();  // the error is reported; the next call starts clean
  throw Error(std::string("cuda: ") + what + ": " + cudaGetErrorString(error));
}

}  // namespace trasmuon::cuda
