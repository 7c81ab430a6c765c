// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "cuda/hopper/tile_sizes.h"

namespace trasmuon::cuda {

/// A matrix of the small-matrix kernel, in device memory. Element (i, j) of X is x[i * row_stride + j], 16 bits. The
/// row stride is a multiple of 8; x is aligned to 16 bytes.
struct SmallMatrix {
  void* x;
  float* row_squares;  ///< [row_square_tiles(cols), rows]; null: not wanted
  int rows, cols, row_stride;
  float norm;  ///< of the input X
};

/// Z = aI + bR + cR^2; `restart`: R is recomputed from X afterwards.
struct SmallStep {
  float a, b, c;
  bool restart;
};

/// One block per matrix. `side`, kBoxSide or kSmallSide: the largest short side.
cudaError_t launch_small_kernel(const SmallMatrix* matrices, int matrix_count, int side, const SmallStep* steps,
                                int step_count, bool bfloat16, cudaStream_t stream);

}  // namespace trasmuon::cuda
