// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublas_v2.h>

#include <cstdint>

#include "cuda/runtime/device_memory.h"
#include "trasmuon/tensor.h"

namespace trasmuon::cuda {

/// A batch of row-major matrices: element (b, i, j) at data[b * batch_stride + i * stride + j].
struct BlasMatrices {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t stride = 0, batch_stride = 0;
  bool transposed = false;  ///< read as its transpose; operands only, not results

  BlasMatrices transpose() const { return {data, dtype, stride, batch_stride, !transposed}; }
};

/// C_b <- alpha A_b B_b + beta C_b for every b; C is m x n, the inner dimension k. 16-bit products are summed in f32.
struct BlasProduct {
  int m = 0, n = 0, k = 0, batch = 1;
  BlasMatrices a, b, c;
  double alpha = 1, beta = 0;
  bool tf32 = false;
};

/// A cuBLAS handle with a workspace of our own: cuBLAS would allocate one during a capture. Throws Error with
/// cuBLAS's message.
class Blas {
 public:
  Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  ~Blas();

  /// Enqueues the following products on this stream.
  void use(cudaStream_t stream) const;
  void multiply(const BlasProduct& product) const;

 private:
  cublasHandle_t handle_ = nullptr;
  DeviceMemory workspace_;
};

}  // namespace trasmuon::cuda
