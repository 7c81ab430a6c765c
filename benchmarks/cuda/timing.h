// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "samples.h"
#include "trasmuon/error.h"

namespace trasmuon::bench {

inline void check_cuda(cudaError_t error) {
  if (error != cudaSuccess) throw Error(std::string("CUDA: ") + cudaGetErrorString(error));
}

/// Milliseconds between two events around step(), which enqueues work on the default stream; after five calls to
/// warm up.
template <class Step>
Samples milliseconds(Step&& step, int repeats) {
  constexpr int kWarmUp = 5;
  for (int i = 0; i < kWarmUp; ++i) step();
  check_cuda(cudaDeviceSynchronize());
  cudaEvent_t begin, end;
  check_cuda(cudaEventCreate(&begin));
  check_cuda(cudaEventCreate(&end));
  Samples samples;
  for (int i = 0; i < repeats; ++i) {
    check_cuda(cudaEventRecord(begin));
    step();
    check_cuda(cudaEventRecord(end));
    check_cuda(cudaEventSynchronize(end));
    float elapsed = 0;
    check_cuda(cudaEventElapsedTime(&elapsed, begin, end));
    samples.values.push_back(static_cast<double>(elapsed));
  }
  check_cuda(cudaEventDestroy(begin));
  check_cuda(cudaEventDestroy(end));
  return samples;
}

}  // namespace trasmuon::bench
