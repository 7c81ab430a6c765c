// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cpu/products/bf16_kernels.h"
#include "stages/arena.h"
#include "stages/matrix.h"

namespace trasmuon::cpu {

/// Returns the number of blocks that cover `length` rows or columns.
constexpr std::int64_t block_count(std::int64_t length) { return (length + kBlockSide - 1) / kBlockSide; }

/// A bf16 matrix of blocks, stored row by row.
struct BlockMatrix {
  std::int64_t row_blocks = 0, col_blocks = 0;
  Bf16Pair* data = nullptr;

  BlockMatrix() = default;
  BlockMatrix(std::int64_t rows_of_blocks, std::int64_t cols_of_blocks, Arena& arena)
      : row_blocks(rows_of_blocks), col_blocks(cols_of_blocks), data(arena.take<Bf16Pair>(pairs())) {}

  std::int64_t pairs() const { return row_blocks * col_blocks * kBlockPairs; }
  Bf16Pair* block(std::int64_t row, std::int64_t col) const { return data + (row * col_blocks + col) * kBlockPairs; }
};

/// x <- scale * in, or the transpose of it, where `in` is f32.
void load_blocks(const MatrixView& in, double scale, bool transposed, const BlockMatrix& x);

/// out = alpha A B + beta D + diagonal I, or with `transpose_b` B^T for B; sums are in f32 and rounded once.
struct BlockProduct {
  BlockMatrix a, b;
  bool transpose_b = false;
  BlockMatrix out;
  float alpha = 1, beta = 0, diagonal = 0;
  BlockMatrix d = {};      ///< empty: none
  std::int64_t side = 0;   ///< of I
  bool symmetric = false;  ///< out is known to be symmetric: half is computed, half mirrored

  // If `unrounded` has memory, A B or its transpose is stored there in f32, and `out` is only its shape.
  MatrixView unrounded = {};
  bool transpose_unrounded = false;
};

/// Returns the pairs of scratch that multiply() needs for a result of `cols` columns, summed over `depth`; both are
/// counted in blocks.
std::int64_t multiply_scratch(std::int64_t cols, std::int64_t depth);

/// Computes the product. Every element is summed in the same order, whatever the number of threads.
void multiply(const BlockProduct& product, Bf16Pair* scratch);

}  // namespace trasmuon::cpu
