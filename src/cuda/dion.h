// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <span>
#include <vector>

#include "cuda/blas.h"
#include "cuda/device_memory.h"
#include "cuda/kernels.h"
#include "cuda/orthogonalize.h"
#include "stages/matrix.h"

namespace trasmuon::cuda {

/// Dion's matrices beside a DeviceMatrix, all of its compute type. P, R and Q are the paper's; they
/// lie transposed and packed but for their strides.
struct DionMatrix {
  DeviceView sum;   ///< B = M + G, stored like the weight; M when the step is done
  void* basis;      ///< Q of the state: n x rank
  void *q, *p, *r;  ///< Q; P^T, rank x m; R^T, rank x n, its rows of unit length in the end
  void* scaled_r;   ///< (mu - 1) R^T
  int rank, m, n;   ///< rows of P^T and R^T, and how long they are
  int p_stride, r_stride;
};

/// B, and Q side by side with those of its shape. Inactive matrices get zeros, and so P = R = 0.
void enqueue_dion_load(const StepMemory& step, const DionMatrix* matrices, cudaStream_t stream);
/// P^T's rows to unit length.
void enqueue_dion_unit_rows(const StepMemory& step, const DionMatrix* matrices, int most_rank, cudaStream_t stream);
/// (mu - 1) R^T; then R^T's rows to unit length, and into the state's Q.
void enqueue_dion_basis(const StepMemory& step, const DionMatrix* matrices, int most_rank, cudaStream_t stream);
/// M <- B.
void enqueue_dion_momentum(const StepMemory& step, const DionMatrix* matrices, cudaStream_t stream);

constexpr int kDionBlock = 32;
/// P^T's rows [first, first + kDionBlock), which have unit length and are orthogonal to those before, are
/// made orthonormal among themselves.
void enqueue_dion_orthonormal(const StepMemory& step, const DionMatrix* matrices, int first, cudaStream_t stream);

std::size_t dion_scratch_bytes(const Matrix& x);

/// The step of Dion for a part of a batch, all but what is done to W.
class DionStep {
 public:
  /// `indices`: which of `all` are in the buckets, in their order.
  DionStep(std::span<const Matrix> all, std::span<const std::size_t> indices, const std::vector<Bucket>& buckets,
           const Blas& blas, Carver& scratch);
  ~DionStep();
  void enqueue(const StepMemory& step, cudaStream_t stream) const;

 private:
  struct Shape;  ///< the matrices of one bucket
  void project_out(const Shape& shape, int first) const;

  const Blas& blas_;
  std::vector<Shape> shapes_;
  DeviceMemory table_;
  int most_rank_ = 0;
};

}  // namespace trasmuon::cuda
