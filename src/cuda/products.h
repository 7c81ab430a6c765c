// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "cuda/device_memory.h"

// Batched products of 16-bit matrices on Hopper's tensor cores.
namespace trasmuon::cuda {

/// `batch` matrices of 16-bit numbers, element (b, i, j) at data[b * batch_stride + i * row_stride + j].
/// Strides are multiples of 8 and data is 16-byte aligned.
struct HalfMatrices {
  void* data = nullptr;
  int rows = 0, cols = 0, row_stride = 0, batch = 0;
  std::int64_t batch_stride = 0;
  void* diagonal_blocks = nullptr;  ///< symmetric only: [batch, ceil(rows / 128), 128, 128], see Product::shift
};

/// out_b = alpha A_b B_b + delta I for every b.
struct Product {
  enum class Form : std::uint8_t {
    gram_rows,     ///< A A^T: `b` is `a`
    gram_columns,  ///< A^T A
    symmetric,     ///< A B, both symmetric and commuting, so the result is symmetric
    left,          ///< A B, A symmetric
    right,         ///< A B, B symmetric
  };
  Form form = Form::symmetric;
  HalfMatrices a, b, out;
  float alpha = 1, delta = 0;
  /// `b` with its diagonal shifted: its diagonal blocks are taken from b.diagonal_blocks.
  bool shifted_b = false;
  /// Also write out's diagonal blocks, with `shift` added on the diagonal, to out.diagonal_blocks.
  bool write_shifted = false;
  float shift = 0;
  /// Sums of squares of out's rows, by column tile: [batch, row_square_tiles(out.cols), rows]; may be null.
  float* row_squares = nullptr;
};

constexpr int row_square_tiles(int cols) { return (cols + 255) / 256; }
inline std::int64_t diagonal_block_elements(int rows, int batch) {
  return std::int64_t{batch} * ((rows + 127) / 128) * 128 * 128;
}

/// One launch for several products that do not depend on each other. Built once, launched often.
class ProductLaunch {
 public:
  ProductLaunch(const std::vector<Product>& products, bool bfloat16, int multiprocessors);
  void enqueue(cudaStream_t stream) const;

 private:
  DeviceMemory problems_;
  int count_ = 0, wide_tiles_ = 0, tiles_ = 0, blocks_ = 0;
  bool bfloat16_ = false;
};

}  // namespace trasmuon::cuda
