// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include "cuda/products.h"

namespace trasmuon::cuda {

/// A Product as the kernel reads it, in device memory.
struct Problem {
  CUtensorMap a, b, b_diagonal, out, out_diagonal;
  float* row_squares;
  int rows, cols, depth;
  int row_blocks;                // of 128
  int wide_tiles, narrow_tiles;  // in one matrix, 256 and 128 columns
  int first_wide, first_narrow;  // in the launch: all wide tiles, then all narrow ones
  bool symmetric, a_by_column, b_by_column, shifted_b, write_shifted;
  float alpha, delta, shift;
};

cudaError_t launch_products_sm90(const Problem* problems, int count, int wide_tiles, int tiles, int blocks,
                                 bool bfloat16, cudaStream_t stream);

}  // namespace trasmuon::cuda
