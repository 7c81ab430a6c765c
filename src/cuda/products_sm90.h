// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace trasmuon::cuda {

/// The maps of a Product, in device memory. Boxes are 64 columns wide; those of operands that are read by
/// rows are 128 rows high, all others 64.
struct ProductMaps {
  CUtensorMap a, b, b_diagonal, a_by_column, b_by_column, out, out_diagonal;
};

/// 128 x 256 of one product of one matrix. Of a block of 256 x 256 on the diagonal of a symmetric result the
/// upper half is 128 x 128, for nothing above the diagonal is computed.
struct alignas(16) Tile {
  int maps;
  int a, b, out;  ///< which of the maps' matrices
  int row, col;
  std::int16_t width;  ///< 0: there are no more
  std::int16_t steps;  ///< of 64 in depth
  /// From these steps on the operand is read by columns: a symmetric matrix is stored below its diagonal only.
  std::int16_t a_flips, b_flips;
  bool symmetric, shifted_b, write_shifted;
  float alpha, delta, shift;
  float* row_squares;  ///< for these columns; may be null
  int rows;            ///< of the result
  int wait, wait_for;  ///< a counter that must have reached a value; -1: none
  int signal;          ///< the counter to add to
};
constexpr int kSignalsPerTile = 2;

/// Whether the tile lies in such a block.
constexpr bool on_diagonal(const Tile& t) { return t.symmetric && t.row / 256 == t.col / 256; }

/// How many of the tile's columns warpgroup 0 or 1 is to compute for its 64 rows: on the diagonal up to it.
constexpr int columns_of(const Tile& t, int group) { return on_diagonal(t) ? t.row + 64 * (group + 1) - t.col : 256; }

struct ProductTables {
  const ProductMaps* maps;
  const Tile* tiles;
  int tile_count;
  unsigned* ticket;    ///< the next tile that nobody works on; zero at the start
  unsigned* counters;  ///< one of each matrix: what is stored of it, in signals; zero at the start
};

cudaError_t launch_products_sm90(const ProductTables& tables, int blocks, bool bfloat16, cudaStream_t stream);

}  // namespace trasmuon::cuda
