// SPDX-License-Identifier: Apache-2.0
#pragma once

// A box: 64 x 64 numbers of 16 bits in shared memory, in lines of 128 bytes, the 16-byte pieces of
// a line swizzled as wgmma reads them. And which of a warpgroup's 128 threads has what of a 64 x 64
// result. Plain functions, so that they can be checked without a GPU.
namespace trasmuon::cuda {

constexpr int kBoxSide = 64, kBoxPieces = 8, kBoxBytes = kBoxSide * kBoxSide * 2;

/// Bytes from the start of a box to a piece of a line.
constexpr int box_offset(int line, int piece) { return line * 128 + (piece ^ (line % 8)) * 16; }

/// Thread t has, of every eight columns, two in an upper row and two in a lower one, eight rows on.
constexpr int fragment_row(int thread) { return thread / 32 * 16 + thread % 32 / 4; }
/// The first of the two.
constexpr int fragment_col(int thread, int eight) { return 8 * eight + 2 * (thread % 4); }
/// Where the two of the upper row lie in a box.
constexpr int fragment_offset(int thread, int row, int eight) { return box_offset(row, eight) + 4 * (thread % 4); }

/// stmatrix stores four blocks of 8 x 8: upper and lower rows of eight columns, then of the next
/// eight. Lane l gives the address of line l % 8 of block l / 8: here, and where it goes transposed.
constexpr int matrix_store_offset(int thread, int eight) {
  const int lane = thread % 32;
  return box_offset(thread / 32 * 16 + lane / 8 % 2 * 8 + lane % 8, eight + lane / 16);
}
constexpr int transposed_store_offset(int thread, int eight) {
  const int lane = thread % 32;
  return box_offset((eight + lane / 16) * 8 + lane % 8, thread / 32 * 2 + lane / 8 % 2);
}

}  // namespace trasmuon::cuda
