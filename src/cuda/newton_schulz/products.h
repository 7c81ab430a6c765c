// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "cuda/hopper/product_kernel.h"
#include "cuda/hopper/tile_sizes.h"
#include "cuda/runtime/device_memory.h"

// Batched products of 16-bit matrices on Hopper's tensor cores.
namespace trasmuon::cuda {

/// `batch` matrices of 16-bit numbers: element (b, i, j) is data[b * batch_stride + i * row_stride + j]. Strides are
/// multiples of 8; data is aligned to 16 bytes.
struct HalfMatrices {
  void* data = nullptr;
  int rows = 0, cols = 0, row_stride = 0, batch = 0;
  std::int64_t batch_stride = 0;
  /// Symmetric matrices only: copies of the diagonal blocks, [batch, diagonal_block_count(rows), kDiagonalBlock,
  /// kDiagonalBlock] with the same batch stride. See Product::shift.
  void* diagonal_blocks = nullptr;
  bool in_slots = false;  ///< b is the index of the slot that a matrix works in, not of the matrix
};

/// out = alpha A B, and + delta I if the result is symmetric. Symmetric matrices are stored on and below the diagonal
/// of kTileCols x kTileCols blocks.
struct Product {
  enum class Form : std::uint8_t {
    gram_rows,     ///< A A^T: `b` is `a`; symmetric
    gram_columns,  ///< A^T A; symmetric
    symmetric,     ///< A B, both symmetric and commuting, so the result is symmetric
    left,          ///< A B, A symmetric
    right,         ///< A B, B symmetric
  };
  Form form = Form::symmetric;
  HalfMatrices a, b, out;
  float alpha = 1, delta = 0;  ///< delta, write_shifted: symmetric forms only
  /// Read the diagonal blocks of `b` from b.diagonal_blocks, so that its diagonal is shifted.
  bool shifted_b = false;
  /// Also write the diagonal blocks of `out`, with `shift` added on the diagonal, to out.diagonal_blocks.
  bool write_shifted = false;
  float shift = 0;
  /// Sums of squares of the rows of `out` per tile of columns: [batch, row_square_tiles(out.cols), rows]; may be null.
  /// Not with symmetric forms.
  float* row_squares = nullptr;
};

struct ProductSequence;
struct Windows;

/// All products of all matrices in one launch.
class ProductLaunch {
 public:
  ProductLaunch(const std::vector<ProductSequence>& sequences, const Windows& windows, bool bfloat16,
                int multiprocessors);
  void enqueue(cudaStream_t stream) const;

 private:
  DeviceMemory maps_, tiles_, counters_;
  ProductTables tables_{};
  int blocks_ = 0;
  bool bfloat16_ = false;
};

}  // namespace trasmuon::cuda
