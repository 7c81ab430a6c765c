// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "cuda/passes/input_scale.h"
#include "cuda/passes/step_data.h"

// Copies between the caller's matrices and those of the iteration, for orthogonalize() outside a step.
namespace trasmuon::cuda {

/// A matrix to be orthogonalized, and where the result goes.
struct LoadStoreMatrix {
  DeviceView in, out;
  double* parts;    ///< one per kChunkRows rows: partial sums of squares of `in`
  double* largest;  ///< one per kChunkRows rows: largest absolute value of `in`; for f64 only
};

/// `count` matrices of one shape. Element (b, i, j) of X is x[(b * rows + i) * row_stride + j]; O likewise.
struct LoadStoreBatch {
  const LoadStoreMatrix* matrices;
  int rows, cols, count;
  void *x, *o;
  std::int64_t row_stride;  ///< of X and O
  DType dtype;              ///< of X and O
};

/// X <- scaled inputs.
void enqueue_load(const LoadStoreBatch& batch, const InputNorm& norm, InputScale scale, cudaStream_t stream);
/// Outputs <- O.
void enqueue_store(const LoadStoreBatch& batch, cudaStream_t stream);

}  // namespace trasmuon::cuda
