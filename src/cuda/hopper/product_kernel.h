// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/hopper/tile_sizes.h"

namespace trasmuon::cuda {

/// The tensor maps of one product, in device memory. Boxes are kBoxSide columns wide. Those of operands that are read
/// by rows have kTileRows rows, all others kBoxSide.
struct ProductMaps {
  CUtensorMap a, b, b_diagonal, a_by_column, b_by_column, out, out_diagonal;
};

/// kTileRows x kTileCols of one product of one matrix. A symmetric result is computed on and below its diagonal only:
/// of a diagonal block of kTileCols x kTileCols the upper tile is just kTileRows x kTileRows.
struct alignas(16) Tile {
  int maps;       ///< index of the product's maps
  int a, b, out;  ///< indices of the matrices within the maps
  int row, col;
  std::int16_t width;  ///< columns; 0: there are no more tiles
  std::int16_t steps;  ///< of kTileDepth
  /// From this step on the operand is read by columns, because only the lower triangle of a symmetric matrix is stored.
  std::int16_t transpose_a_from, transpose_b_from;
  bool symmetric, shifted_b, write_shifted;
  float alpha, delta, shift;
  float* row_squares;  ///< for these columns; may be null
  int rows;            ///< of the result
  int wait, wait_for;  ///< index of a counter that must first reach the value wait_for; -1: none
  int signal;          ///< index of the counter to add to when the tile is stored
};
constexpr int kSignalsPerTile = 2;  ///< one per warpgroup

/// Whether the tile lies in a diagonal block of a symmetric result.
constexpr bool on_diagonal(const Tile& t) { return t.symmetric && t.row / kTileCols == t.col / kTileCols; }

/// How many of the tile's columns warpgroup 0 or 1 computes for its kBoxSide rows; on the diagonal, those up to it.
constexpr int columns_of(const Tile& t, int group) {
  return on_diagonal(t) ? t.row + kBoxSide * (group + 1) - t.col : kTileCols;
}

struct ProductTables {
  const ProductMaps* maps;
  const Tile* tiles;
  int tile_count;
  unsigned* ticket;    ///< index of the next tile that no block has taken yet; zero at the start
  unsigned* counters;  ///< one per matrix: signals of its tiles stored so far; zero at the start
};

/// Computes all tiles with `blocks` blocks of threads, at most one per multiprocessor.
cudaError_t launch_product_kernel(const ProductTables& tables, int blocks, bool bfloat16, cudaStream_t stream);

}  // namespace trasmuon::cuda
