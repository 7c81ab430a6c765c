// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <vector>

#include "support/memory.h"

namespace trasmuon::test {

inline void check_cuda(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

/// Memory on cuda:0.
class CudaMemory final : public Memory {
 public:
  CudaMemory() = default;
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  ~CudaMemory() override {
    for (void* block : blocks_) (void)cudaFree(block);
  }
  Device device() const override { return Device::cuda(0); }
  /// Filled with NaN, so that reading a value that was never written is noticed.
  void* allocate(std::size_t bytes) override {
    void* data = nullptr;
    check_cuda(cudaMalloc(&data, bytes));
    check_cuda(cudaMemset(data, 0xFF, bytes));
    blocks_.push_back(data);
    return data;
  }
  void write(void* to, const void* host, std::size_t bytes) override {
    check_cuda(cudaMemcpy(to, host, bytes, cudaMemcpyHostToDevice));
  }
  void read(void* host, const void* from, std::size_t bytes) override {
    check_cuda(cudaDeviceSynchronize());
    check_cuda(cudaMemcpy(host, from, bytes, cudaMemcpyDeviceToHost));
  }

 private:
  std::vector<void*> blocks_;
};

}  // namespace trasmuon::test
