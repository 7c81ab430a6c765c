// SPDX-License-Identifier: Apache-2.0
#include "cpu/products/bf16_product.h"

#include <algorithm>
#include <cmath>

#include "cpu/thread_pool.h"

namespace trasmuon::cpu {
namespace {

/// Columns of the right factor that are packed at a time: they stay in the L2 cache while the left factor passes by.
std::int64_t group_width(std::int64_t cols, std::int64_t depth) {
  constexpr std::int64_t kGroupBytes = 512 * 1024, kLeastWidth = 4;
  const std::int64_t column_bytes = depth * kBlockPairs * static_cast<std::int64_t>(sizeof(Bf16Pair));
  const std::int64_t most = std::min(cols, std::max(kLeastWidth, kGroupBytes / column_bytes));
  const std::int64_t groups = (cols + most - 1) / most;
  return (cols + groups - 1) / groups;  // of equal width: a narrow last one would leave threads without work
}

/// Blocks in a row or column of blocks that are one task: few enough for many threads, enough to be worth handing out.
constexpr std::int64_t kTaskBlocks = 2;

/// Calls body(line, first, last) for pieces [first, last) of `lines` rows or columns of `length` blocks each; the lines
/// in order.
template <class Body>
void for_each_piece(std::int64_t lines, std::int64_t length, Body&& body) {
  const std::int64_t pieces = (length + kTaskBlocks - 1) / kTaskBlocks;
  parallel_for(lines * pieces, [&](std::int64_t task) {
    const std::int64_t first = task % pieces * kTaskBlocks;
    body(task / pieces, first, std::min(length, first + kTaskBlocks));
  });
}

void pack_column(const BlockProduct& p, const Bf16Kernels& kernel, std::int64_t col, std::int64_t first,
                 std::int64_t last, Bf16Pair* packed) {
  for (std::int64_t k = first; k < last; ++k) {
    if (p.transpose_b) kernel.pack_transposed(p.b.block(col, k), packed + k * kBlockPairs);
    else kernel.pack(p.b.block(k, col), packed + k * kBlockPairs);
  }
}

void store_unrounded(const BlockProduct& p, const Bf16Kernels& kernel, std::int64_t row, std::int64_t col,
                     float* sums) {
  if (p.transpose_unrounded) {
    kernel.transpose(sums);
    std::swap(row, col);
  }
  const MatrixView& out = p.unrounded;
  const std::int64_t i0 = row * kBlockSide, j0 = col * kBlockSide;
  const std::int64_t rows = std::min(kBlockSide, out.rows - i0), cols = std::min(kBlockSide, out.cols - j0);
  kernel.store_unrounded(sums, {out.row<float>(i0) + j0, out.row_stride, rows, cols});
}

void compute_block(const BlockProduct& p, const Bf16Kernels& kernel, std::int64_t row, std::int64_t col,
                   const Bf16Pair* packed) {
  alignas(64) float sums[kBlockSide * kBlockSide];
  kernel.multiply(p.a.col_blocks, p.a.block(row, 0), packed, sums);
  if (p.unrounded.data != nullptr) {
    store_unrounded(p, kernel, row, col, sums);
    return;
  }
  if (p.d.data != nullptr) kernel.combine(sums, p.alpha, p.beta, p.d.block(row, col));
  if (row == col && p.symmetric) {
    const std::int64_t side = std::min(kBlockSide, p.side - row * kBlockSide);
    for (std::int64_t i = 0; i < side; ++i) sums[i * kBlockSide + i] += p.diagonal;
    kernel.mirror(sums);
  }
  kernel.store(sums, p.out.block(row, col), p.symmetric && row != col ? p.out.block(col, row) : nullptr);
}

}  // namespace

void load_blocks(const MatrixView& in, double scale, bool transposed, const BlockMatrix& x) {
  const Bf16Kernels& kernel = bf16_kernels();
  // A power of two and the rest: the scale of a matrix near the ends of f32 is itself beyond them.
  const int exponent = std::clamp(std::ilogb(scale), -126, 126);
  const auto power = static_cast<float>(std::ldexp(1.0, exponent));
  const auto rest = static_cast<float>(std::ldexp(scale, -exponent));
  parallel_for(block_count(in.rows), [&](std::int64_t row) {
    alignas(64) float sums[kBlockSide * kBlockSide];
    for (std::int64_t col = 0; col < block_count(in.cols); ++col) {
      const std::int64_t i = row * kBlockSide, j = col * kBlockSide;
      const std::int64_t rows = std::min(kBlockSide, in.rows - i), cols = std::min(kBlockSide, in.cols - j);
      kernel.load({in.row<float>(i) + j, in.row_stride, rows, cols, {power, rest}}, sums);
      if (transposed) kernel.store(sums, nullptr, x.block(col, row));
      else kernel.store(sums, x.block(row, col), nullptr);
    }
  });
}

std::int64_t multiply_scratch(std::int64_t cols, std::int64_t depth) {
  return group_width(cols, depth) * depth * kBlockPairs;
}

void multiply(const BlockProduct& p, Bf16Pair* scratch) {
  const Bf16Kernels& kernel = bf16_kernels();
  const std::int64_t rows = p.out.row_blocks, cols = p.out.col_blocks, depth = p.a.col_blocks;
  const std::int64_t width = group_width(cols, depth);
  for (std::int64_t first = 0; first < cols; first += width) {
    const std::int64_t end = std::min(cols, first + width);
    const auto packed = [&](std::int64_t col) { return scratch + (col - first) * depth * kBlockPairs; };
    for_each_piece(end - first, depth, [&](std::int64_t j, std::int64_t from, std::int64_t to) {
      pack_column(p, kernel, first + j, from, to, packed(first + j));
    });
    if (p.transpose_unrounded) {  // column by column, so that rows of the output are written one after the other
      for_each_piece(end - first, rows, [&](std::int64_t j, std::int64_t from, std::int64_t to) {
        const Bf16Scope scope;
        for (std::int64_t row = from; row < to; ++row) compute_block(p, kernel, row, first + j, packed(first + j));
      });
      continue;
    }
    const std::int64_t top = p.symmetric ? first : 0;
    for_each_piece(rows - top, end - first, [&](std::int64_t task, std::int64_t from, std::int64_t to) {
      const Bf16Scope scope;
      const std::int64_t row = rows - 1 - task;  // bottom rows first: in a triangle they are the long ones
      const std::int64_t last = p.symmetric ? std::min(first + to, row + 1) : first + to;
      for (std::int64_t col = first + from; col < last; ++col) compute_block(p, kernel, row, col, packed(col));
    });
  }
}

}  // namespace trasmuon::cpu
