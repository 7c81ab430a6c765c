// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "cuda/check.h"

namespace trasmuon::cuda {

/// Makes a device the current one, and puts back what was.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    if (device != before_) check(cudaSetDevice(device), "cudaSetDevice");
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { (void)cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

/// While this lives, the thread may allocate and copy beside a recording of the caller's.
class BesideRecording {
 public:
  BesideRecording() { check(cudaThreadExchangeStreamCaptureMode(&mode_), "cudaThreadExchangeStreamCaptureMode"); }
  BesideRecording(const BesideRecording&) = delete;
  BesideRecording& operator=(const BesideRecording&) = delete;
  ~BesideRecording() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  ///< then the mode that was
};

/// Owned memory of the current device.
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
  ~DeviceMemory() { (void)cudaFree(data_); }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// From pageable host memory, which may change once this returns. CUDA takes a copy of up to
/// 64 KB and goes on; for more it may wait for the stream.
inline void upload(void* to, const void* host, std::size_t bytes, cudaStream_t stream) {
  constexpr std::size_t kMost = std::size_t{64} << 10;
  for (std::size_t done = 0; done < bytes; done += kMost) {
    check(cudaMemcpyAsync(static_cast<std::byte*>(to) + done, static_cast<const std::byte*>(host) + done,
                          std::min(kMost, bytes - done), cudaMemcpyHostToDevice, stream),
          "uploading a table");
  }
}

/// A table in memory of its own; other streams must wait before they read it.
template <class T>
DeviceMemory uploaded(const std::vector<T>& values) {
  DeviceMemory memory(values.size() * sizeof(T));
  if (!values.empty())
    check(cudaMemcpy(memory.data(), values.data(), memory.bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  return memory;
}

/// Hands out pieces of a block of memory; with no block it only counts.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}
  template <class T>
  T* take(std::size_t count) {
    return static_cast<T*>(take_bytes(count * sizeof(T)));
  }
  void* take_bytes(std::size_t bytes) {
    void* piece = base_ == nullptr ? nullptr : base_ + used_;
    used_ += aligned(bytes);
    return piece;
  }
  std::size_t used() const { return used_; }
  static constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

}  // namespace trasmuon::cuda
