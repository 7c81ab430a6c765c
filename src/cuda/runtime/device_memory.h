// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "cuda/runtime/check.h"

namespace trasmuon::cuda {

/// Frees memory of any device. An error has nobody to go to, and must not show at the next check().
inline void free_memory(void* data) {
  if (cudaFree(data) != cudaSuccess) (void)cudaGetLastError();
}

/// Matrices that need more scratch than this are worked on in several batches, one after the other.
constexpr std::size_t kScratchLimit = std::size_t{2} << 30;

/// Owned memory on the current device.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes) : bytes_(bytes) {
    if (bytes != 0) check(cudaMalloc(&data_, bytes), "cudaMalloc");
  }
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceMemory() { free_memory(data_); }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Copies from pageable host memory, which the caller may change as soon as this returns. In pieces, because CUDA
/// buffers a copy of up to 64 KB and returns, but may wait for the stream with a larger one.
inline void upload(void* to, const void* host, std::size_t bytes, cudaStream_t stream) {
  constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
  for (std::size_t done = 0; done < bytes; done += kPieceBytes) {
    check(cudaMemcpyAsync(static_cast<std::byte*>(to) + done, static_cast<const std::byte*>(host) + done,
                          std::min(kPieceBytes, bytes - done), cudaMemcpyHostToDevice, stream),
          "uploading a table");
  }
}

/// A copy of the values on the device. Other streams must wait before they read it.
template <class T>
DeviceMemory uploaded(const std::vector<T>& values) {
  DeviceMemory memory(values.size() * sizeof(T));
  if (!values.empty())
    check(cudaMemcpy(memory.data(), values.data(), memory.bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  return memory;
}

}  // namespace trasmuon::cuda
