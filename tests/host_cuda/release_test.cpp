// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>

#include "cuda/twins.h"

namespace trasmuon::test {
namespace {

using CudaRelease = OnGpu;

// CUDA refuses to free memory beside a capture. The memory is lost, but the next step must not take this for an error
// of its own.
TEST_F(CudaRelease, DuringACaptureLeavesNoError) {
  const std::vector<Item> items = {{{9, 14}}};
  std::optional<Twins<float>> twins(std::in_place, MuonOptions{}, MuonOptions{}, memory, items);
  twins->step();
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  twins.reset();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  (void)cudaGetLastError();
  check_cuda(cudaStreamDestroy(stream));
}

}  // namespace
}  // namespace trasmuon::test
