// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <span>
#include <vector>

#include "cuda/newton_schulz/iteration.h"
#include "cuda/passes/dion.h"
#include "cuda/runtime/blas.h"
#include "cuda/runtime/device_memory.h"
#include "stages/arena.h"
#include "stages/matrix.h"

namespace trasmuon::cuda {

/// Dion's step for the matrices of a batch, except for the update of W.
class DionStep {
 public:
  /// `indices`: which matrices of the group are in the buckets, in the same order.
  DionStep(std::span<const Matrix> group, std::span<const std::size_t> indices, const std::vector<Bucket>& buckets,
           const Blas& blas, Arena& scratch);
  ~DionStep();
  /// The whole step.
  void enqueue(const StepTables& step, cudaStream_t stream) const;
  /// P and R from B and Q.
  void factorize(const StepTables& step, cudaStream_t stream) const;
  /// M, the state's Q and the direction from B, P and R.
  void update(const StepTables& step, cudaStream_t stream) const;
  /// In device memory.
  const DionMatrix* matrices() const { return table_.as<const DionMatrix>(); }
  int max_rank() const { return max_rank_; }
  /// Scratch for one matrix.
  static std::size_t scratch_bytes(const Matrix& x);

 private:
  struct Shape;
  void project_out(const Shape& shape, int first) const;

  const Blas& blas_;
  std::vector<Shape> shapes_;
  DeviceMemory table_;
  int max_rank_ = 0;
};

}  // namespace trasmuon::cuda
