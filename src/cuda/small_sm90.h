// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

namespace trasmuon::cuda {

/// One matrix of the small iteration, in device memory. Element (i, j) of X at x[i * row_stride + j],
/// 16 bits; the row stride is a multiple of 8, x of 16 bytes.
struct SmallMatrix {
  void* x;
  float* row_squares;  ///< [tiles of 256 columns, rows]; null: not wanted
  int rows, cols, row_stride;
  float norm;  ///< of X when it comes in
};

/// Z = aI + bR + cR^2; `restart`: R is taken anew from X afterwards.
struct SmallStep {
  float a, b, c;
  bool restart;
};

/// `side`, 64 or 128: the short sides are at most that. One block a matrix.
cudaError_t launch_small_sm90(const SmallMatrix* matrices, int matrix_count, int side, const SmallStep* steps,
                              int step_count, bool bfloat16, cudaStream_t stream);

}  // namespace trasmuon::cuda
