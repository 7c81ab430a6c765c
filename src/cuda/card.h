// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "cuda/blas.h"

namespace trasmuon::cuda {

/// A device, its properties and its cuBLAS handle.
struct Card {
  int device = 0, multiprocessors = 0;
  std::size_t memory = 0;
  bool hopper = false;
  Blas blas;
  explicit Card(int device_index);
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
};

bool is_capturing(cudaStream_t stream);
/// Throws Error while the caller records a graph: what has to be planned cannot be recorded.
void refuse_capture(cudaStream_t stream);

}  // namespace trasmuon::cuda
