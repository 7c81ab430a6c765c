// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/hopper/tile_sizes.h"

// Layout of a box in shared memory: 64 lines of 128 bytes, whose 16-byte pieces are swizzled the way wgmma reads
// them; and which elements of a 64 x 64 result each of a warpgroup's 128 threads holds. Plain functions, so that they
// can be tested without a GPU.
namespace trasmuon::cuda {

constexpr int kLineBytes = 2 * kBoxSide, kPieceBytes = 16, kBoxPieces = kLineBytes / kPieceBytes;
constexpr int kBoxBytes = kBoxSide * kLineBytes;
constexpr int kSwizzleBytes = 8 * kLineBytes;  // the swizzle repeats after this; boxes start at a multiple of it
constexpr int kWarpgroup = 128;                // threads

/// Offset in bytes of a piece of a line.
constexpr int box_offset(int line, int piece) { return line * kLineBytes + (piece ^ (line % 8)) * kPieceBytes; }

/// Of every eight columns a thread holds two in an upper row and two in a lower row, eight rows below. The upper row:
constexpr int fragment_row(int thread) { return thread / 32 * 16 + thread % 32 / 4; }
/// The first of the two columns.
constexpr int fragment_col(int thread, int eight) { return 8 * eight + 2 * (thread % 4); }
/// Offset in bytes of the two elements of a row.
constexpr int fragment_offset(int thread, int row, int eight) { return box_offset(row, eight) + 4 * (thread % 4); }

/// stmatrix stores four 8 x 8 blocks: upper and lower rows of eight columns, then those of the next eight columns.
/// Lane l supplies the address of line l % 8 of block l / 8. These are its offsets, for a plain and a transposed store.
constexpr int matrix_store_offset(int thread, int eight) {
  const int lane = thread % 32;
  return box_offset(thread / 32 * 16 + lane / 8 % 2 * 8 + lane % 8, eight + lane / 16);
}
constexpr int transposed_store_offset(int thread, int eight) {
  const int lane = thread % 32;
  return box_offset((eight + lane / 16) * 8 + lane % 8, thread / 32 * 2 + lane / 8 % 2);
}

}  // namespace trasmuon::cuda
