// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sizes that the kernels for Hopper and the host code that plans for them share.
namespace trasmuon::cuda {

/// A tile: what one block of threads computes of a product at a time.
constexpr int kTileRows = 128, kTileCols = 256;
/// How far the sum over the inner dimension advances per step of the pipeline.
constexpr int kTileDepth = 64;

/// A box: 64 x 64 numbers of 16 bits, the unit of bulk copies and of a warpgroup's results.
constexpr int kBoxSide = 64;

/// Symmetric matrices keep copies of the blocks on their diagonal, of this many rows and columns.
constexpr int kDiagonalBlock = kTileRows;
constexpr int diagonal_block_count(int rows) { return (rows + kDiagonalBlock - 1) / kDiagonalBlock; }

/// Sums of squares of rows are computed per tile of columns: the number of partial sums per row.
constexpr int row_square_tiles(int cols) { return (cols + kTileCols - 1) / kTileCols; }

/// The small-matrix kernel handles short sides up to this, one block of threads per matrix.
constexpr int kSmallSide = 128;

}  // namespace trasmuon::cuda
