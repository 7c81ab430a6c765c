// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_memory.h"
#include "cuda/runtime/device_memory.h"

namespace trasmuon::test {
namespace {

using CudaRelease = OnGpu;

// CUDA refuses to free memory beside a capture. The next step must not take this for an error of its own.
TEST_F(CudaRelease, DuringACaptureLeavesNoError) {
  void* data = nullptr;
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  check_cuda(cudaMalloc(&data, 1));
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cuda::free_memory(data);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated) << "it was not refused";
  (void)cudaGetLastError();
  check_cuda(cudaFree(data));
  check_cuda(cudaStreamDestroy(stream));
}

}  // namespace
}  // namespace trasmuon::test
