// SPDX-License-Identifier: Apache-2.0
#include "cuda/card.h"

#include "cuda/check.h"

namespace trasmuon::cuda {

Card::Card(int device_index) : device(device_index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  multiprocessors = properties.multiProcessorCount;
  memory = properties.totalGlobalMem;
  hopper = properties.major == 9;
}

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

void refuse_capture(cudaStream_t stream) {
  if (is_capturing(stream)) throw Error("cuda: step once outside before recording it in a graph of your own");
}

}  // namespace trasmuon::cuda
