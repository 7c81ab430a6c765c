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

/// Measures work on the default stream by two events around it.
class EventTimer {
 public:
  EventTimer() {
    check_cuda(cudaEventCreate(&begin_));
    check_cuda(cudaEventCreate(&end_));
  }
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;
  ~EventTimer() {
    (void)cudaEventDestroy(begin_);
    (void)cudaEventDestroy(end_);
  }

  /// Milliseconds of what work() enqueues; waits for it.
  template <class Work>
  double milliseconds(Work&& work) {
    check_cuda(cudaEventRecord(begin_));
    work();
    check_cuda(cudaEventRecord(end_));
    check_cuda(cudaEventSynchronize(end_));
    float elapsed = 0;
    check_cuda(cudaEventElapsedTime(&elapsed, begin_, end_));
    return static_cast<double>(elapsed);
  }

 private:
  cudaEvent_t begin_, end_;
};

/// Milliseconds of step(), one by one; after five calls to warm up.
template <class Step>
Samples milliseconds(Step&& step, int repeats) {
  constexpr int kWarmUp = 5;
  for (int i = 0; i < kWarmUp; ++i) step();
  check_cuda(cudaDeviceSynchronize());
  EventTimer timer;
  Samples samples;
  for (int i = 0; i < repeats; ++i) samples.values.push_back(timer.milliseconds(step));
  return samples;
}

/// Milliseconds of step() in the last quarter of a second of steps without a pause, ten at a time: by then the GPU has
/// reached its power limit.
template <class Step>
Samples sustained_milliseconds(Step&& step) {
  constexpr int kTogether = 10;
  EventTimer timer;
  Samples samples;
  for (double elapsed = 0; elapsed < 1000;) {
    const double together = timer.milliseconds([&] {
      for (int i = 0; i < kTogether; ++i) step();
    });
    elapsed += together;
    if (elapsed > 750) samples.values.push_back(together / kTogether);
  }
  return samples;
}

}  // namespace trasmuon::bench
