// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/kernels.h"

namespace trasmuon::cuda {

/// The maps of a Product, in device memory, with boxes of 64 x 64.
struct ProductMaps {
  CUtensorMap a, b, b_diagonal, out, out_diagonal;
};

/// 128 x 256 or 128 x 128 of one product of one matrix.
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
  /// Counters that must have been reached, and the one to add to. -1: none.
  int wait[2], wait_for[2];
  int signal;
};
constexpr int kSignalsPerTile = 2;

/// Part of a pass over a matrix, done by a team of threads.
struct alignas(16) PassItem {
  enum Kind : int {
    end,
    read,         ///< column energies, norm, is everything finite?
    decide,       ///< step or not, the input's scale; signals once more when c is there too
    write,        ///< M, X
    square_rows,  ///< where the last product does not leave them
    scale_rows,   ///< v, row factors, eta^
    apply,        ///< W
  };
  Kind kind;
  Chunk chunk;  ///< or the matrix alone
  int wait, wait_for, signal;
};

/// What is counted of every matrix.
enum Counter : int { kStored, kRead, kDecided, kWritten, kSquared, kScaled, kCounters };
constexpr int counter_of(int matrix, Counter counter) { return matrix * kCounters + counter; }

struct ProductTables {
  const ProductMaps* maps;
  const Tile* tiles;
  const PassItem* items;
  int tile_count, item_count;
  unsigned *tile_ticket, *item_ticket;  ///< the next that nobody works on; zero at the start
  unsigned* counters;                   ///< zero at the start
};

/// The tiles, and beside them the items of `step`.
cudaError_t launch_products_sm90(const ProductTables& tables, const StepMemory& step, int blocks, bool bfloat16,
                                 cudaStream_t stream);

}  // namespace trasmuon::cuda
