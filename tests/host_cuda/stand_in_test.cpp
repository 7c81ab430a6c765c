// SPDX-License-Identifier: Apache-2.0
//
// The stand-in itself: what it is relied on to do, and what it is relied on to find.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "cuda/passes/block.cuh"
#include "cuda/runtime/launch.cuh"

namespace trasmuon::cuda {
namespace {

class HostCuda : public testing::Test {
 protected:
  HostCuda() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess); }
  ~HostCuda() override {
    host_cuda::run_backwards(false);
    (void)cudaDeviceReset();
    (void)cudaStreamDestroy(stream);
  }
  std::string failure() {
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
    return cudaGetErrorString(cudaErrorLaunchFailure);
  }
  cudaStream_t stream = nullptr;
};

__global__ void sum_all(const double* values, double* sums) {
  __shared__ double per_warp[8];
  const double sum = block_sum<256>(values[threadIdx.x], per_warp);
  if (sum > 0) sums[threadIdx.x] = sum;
}

TEST_F(HostCuda, ThreadsMeetAtBarriersAndShuffles) {
  std::vector<double> values(256), sums(256);
  std::iota(values.begin(), values.end(), 1.0);
  for (bool backwards : {false, true}) {
    host_cuda::run_backwards(backwards);
    std::fill(sums.begin(), sums.end(), 0.0);
    launch(sum_all, 1, 256, stream, values.data(), sums.data());
    EXPECT_EQ(sums, std::vector<double>(256, 256 * 257 / 2.0));
  }
}

__global__ void vote(int* votes, unsigned voter) {
  if (threadIdx.x >= 64) return;
  votes[threadIdx.x] = __syncthreads_or(threadIdx.x == voter);
}

TEST_F(HostCuda, ReturnedThreadsAreNotWaitedFor) {
  std::vector<int> votes(64, -1);
  launch(vote, 1, 96, stream, votes.data(), 40);
  EXPECT_EQ(votes, std::vector<int>(64, 1));
  launch(vote, 1, 96, stream, votes.data(), 80);
  EXPECT_EQ(votes, std::vector<int>(64, 0));
}

__global__ void shuffle_without_lane_3() {
  if (threadIdx.x != 3) (void)__shfl_xor_sync(~0u, 1, 1);
}
__global__ void two_barriers() {
  if (threadIdx.x < 32) __syncthreads();
  else (void)__syncthreads_or(1);
}

TEST_F(HostCuda, AKernelThatWouldHangIsAnErrorThatStays) {
  launch(shuffle_without_lane_3, 1, 32, stream);
  EXPECT_EQ(failure(),
            "the kernel failed: __shfl_xor_sync waits for lanes that do not come in block (0, 0, 0), thread 0");
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  launch(two_barriers, 1, 64, stream);
  EXPECT_EQ(failure(),
            "the kernel failed: some threads wait in __syncthreads, others in __syncthreads_or in block (0, 0, 0)");
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  std::vector<int> votes(64, -1);
  launch(vote, 1, 64, stream, votes.data(), 0);
  EXPECT_EQ(votes, std::vector<int>(64, 1));
}

__global__ void pass_on_without_barrier(int* shared) {
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (threadIdx.x > 0) shared[64 + threadIdx.x] = shared[threadIdx.x - 1];
}

TEST_F(HostCuda, RunningBackwardsShowsAMissingBarrier) {
  const auto run = [&](bool backwards) {
    host_cuda::run_backwards(backwards);
    std::vector<int> memory(128, -1);
    launch(pass_on_without_barrier, 1, 64, stream, memory.data());
    return memory;
  };
  EXPECT_NE(run(false), run(true));
}

TEST_F(HostCuda, ImpossibleGridsAreRefused) {
  launch(two_barriers, 0, 32, stream);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  launch(two_barriers, 1, 2048, stream);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(HostCuda, FreshMemoryIsNan) {
  void* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, sizeof(float)), cudaSuccess);
  EXPECT_TRUE(std::isnan(*static_cast<float*>(data)));
  EXPECT_EQ(cudaFree(data), cudaSuccess);
}

__global__ void append(int* list, int value) { list[++list[0]] = value; }

TEST_F(HostCuda, WhatIsCapturedRunsWhenTheGraphIsLaunched) {
  cudaStream_t side = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&join, cudaEventDisableTiming), cudaSuccess);
  std::vector<int> list(10, 0);
  for (bool joined : {false, true}) {
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    launch(append, 1, 1, stream, list.data(), 1);
    EXPECT_EQ(cudaEventRecord(fork, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(side, fork), cudaSuccess);
    launch(append, 1, 1, side, list.data(), 2);
    EXPECT_EQ(cudaEventRecord(join, side), cudaSuccess);
    launch(append, 1, 1, stream, list.data(), 3);
    if (joined) {
      EXPECT_EQ(cudaStreamWaitEvent(stream, join), cudaSuccess);
    }
    launch(append, 1, 1, stream, list.data(), 4);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
    EXPECT_EQ(list[0], 0);
    if (!joined) continue;
    cudaGraphExec_t exec = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    for (bool backwards : {false, true}) {  // backwards the fork waits until the join
      host_cuda::run_backwards(backwards);
      EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    }
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  EXPECT_EQ(list, (std::vector<int>{8, 1, 2, 3, 4, 1, 3, 2, 4, 0}));
  EXPECT_EQ(cudaEventDestroy(fork), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(join), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(side), cudaSuccess);
}

TEST_F(HostCuda, ACaptureForbidsWhatCudaForbids) {
  void* data = nullptr;
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&data, 1), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);

  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&data, 1), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
}

}  // namespace
}  // namespace trasmuon::cuda
