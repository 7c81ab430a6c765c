// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "cuda/runtime/check.h"

// The caller may be capturing its stream into a CUDA graph when it calls us.
namespace trasmuon::cuda {

inline bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

/// Throws Error while the stream is being captured: planning allocates memory, which cannot be captured.
inline void refuse_capture(cudaStream_t stream) {
  if (is_capturing(stream)) throw Error("cuda: run one step before you capture a step in a graph of your own");
}

/// While an object of this class lives, the thread may allocate and copy although a capture is going on.
class AllowWorkDuringCapture {
 public:
  AllowWorkDuringCapture() {
    check(cudaThreadExchangeStreamCaptureMode(&mode_), "cudaThreadExchangeStreamCaptureMode");
  }
  AllowWorkDuringCapture(const AllowWorkDuringCapture&) = delete;
  AllowWorkDuringCapture& operator=(const AllowWorkDuringCapture&) = delete;
  ~AllowWorkDuringCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  ///< after the exchange, the mode to restore
};

}  // namespace trasmuon::cuda
