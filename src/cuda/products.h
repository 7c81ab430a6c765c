// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "cuda/device_memory.h"
#include "cuda/products_sm90.h"

// Batched products of 16-bit matrices on Hopper's tensor cores.
namespace trasmuon::cuda {

/// `batch` matrices of 16-bit numbers, element (b, i, j) at data[b * batch_stride + i * row_stride + j].
/// Strides are multiples of 8 and data is 16-byte aligned.
struct HalfMatrices {
  void* data = nullptr;
  int rows = 0, cols = 0, row_stride = 0, batch = 0;
  std::int64_t batch_stride = 0;
  void* diagonal_blocks =
      nullptr;            ///< symmetric only: [batch, blocks, 128, 128] in the same strides, see Product::shift
  bool in_slots = false;  ///< b is the slot that a matrix works in, not the matrix
};

/// out = alpha A B, or alpha A B + delta I where that is symmetric. Symmetric matrices are stored on and below the
/// diagonal of 256 x 256 blocks.
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
  /// `b` with its diagonal shifted: its diagonal blocks are taken from b.diagonal_blocks.
  bool shifted_b = false;
  /// Also write out's diagonal blocks, with `shift` added on the diagonal, to out.diagonal_blocks.
  bool write_shifted = false;
  float shift = 0;
  /// Sums of squares of out's rows, by column tile: [batch, row_square_tiles(out.cols), rows]; may be null. Not
  /// with symmetric forms.
  float* row_squares = nullptr;
};

constexpr int row_square_tiles(int cols) { return (cols + 255) / 256; }
constexpr int diagonal_block_count(int rows) { return (rows + 127) / 128; }

struct ProductSequence;
struct Windows;

/// All products of all matrices as one launch.
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
