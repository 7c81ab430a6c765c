// SPDX-License-Identifier: Apache-2.0
//
// A matrix product of our own, for three reasons that BLAS cannot meet: a product of
// commuting symmetric matrices is symmetric and only half of it is computed (BLAS has
// that for X X^T alone); scaling, a I + b R and the mirrored store are fused into it;
// and its threads are ours, not a process-wide setting of the caller's BLAS.
#include "cpu/products/gemm.h"

#include <algorithm>

#include "cpu/kernels.h"
#include "cpu/thread_pool.h"

namespace trasmuon::cpu {
namespace {

constexpr std::int64_t kBlockTiles = 4;  // a task is a block of 4 x 4 register tiles: 96 of them in a square of 768

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Depth of the panels of a product over k. A short k keeps them small: for 1 x 1 times 1 x n they are as large as the
/// operands, not kPanelDepth times as large.
std::int64_t panel_depth(std::int64_t k) { return std::clamp<std::int64_t>(k, 1, kPanelDepth); }

}  // namespace

template <class T>
std::int64_t multiply_scratch(std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto& tile = kernels<T>();
  return panel_depth(k) * (ceil_div(m, tile.tile_rows) * tile.tile_rows + ceil_div(n, tile.tile_cols) * tile.tile_cols);
}

template <class T>
void multiply(const Product<T>& p, T* scratch) {
  const auto& kernel = kernels<T>();
  const std::int64_t mr = kernel.tile_rows, nr = kernel.tile_cols;
  const std::int64_t row_panels = ceil_div(p.m, mr), col_panels = ceil_div(p.n, nr);
  const std::int64_t row_blocks = ceil_div(row_panels, kBlockTiles), col_blocks = ceil_div(col_panels, kBlockTiles);
  const std::int64_t row_panel_size = panel_depth(p.k) * mr, col_panel_size = panel_depth(p.k) * nr;
  T* packed_a = scratch;
  T* packed_b = scratch + row_panels * row_panel_size;

  // At least one slab, so that k = 0 still writes beta D + diagonal I.
  for (std::int64_t k0 = 0; k0 == 0 || k0 < p.k; k0 += kPanelDepth) {
    const std::int64_t depth = std::min(kPanelDepth, p.k - k0);

    auto pack = [&](std::int64_t block) {
      if (block < row_blocks) {
        for (std::int64_t i = block * kBlockTiles; i < std::min(row_panels, (block + 1) * kBlockTiles); ++i) {
          const T* data = p.a.data + i * mr * p.a.row_stride + k0 * p.a.col_stride;
          kernel.pack_rows({data, p.a.row_stride, p.a.col_stride, std::min(mr, p.m - i * mr), depth, p.a.scale},
                           packed_a + i * row_panel_size);
        }
      } else {
        block -= row_blocks;
        for (std::int64_t j = block * kBlockTiles; j < std::min(col_panels, (block + 1) * kBlockTiles); ++j) {
          const T* data = p.b.data + j * nr * p.b.col_stride + k0 * p.b.row_stride;
          kernel.pack_cols({data, p.b.col_stride, p.b.row_stride, std::min(nr, p.n - j * nr), depth, p.b.scale},
                           packed_b + j * col_panel_size);
        }
      }
    };
    parallel_for(row_blocks + col_blocks, pack);

    auto compute = [&](std::int64_t task) {
      // Bottom rows first: in a triangle they are the long ones.
      const std::int64_t row_block = row_blocks - 1 - task / col_blocks, col_block = task % col_blocks;
      TileTarget<T> to{.c = p.c, .ldc = p.ldc, .d = p.d, .ldd = p.ldd, .alpha = p.alpha, .beta = p.beta};
      to.diagonal = p.diagonal;
      to.symmetric = p.symmetric;
      to.first = k0 == 0;
      to.last = k0 + kPanelDepth >= p.k;
      for (std::int64_t i = row_block * kBlockTiles; i < std::min(row_panels, (row_block + 1) * kBlockTiles); ++i) {
        const std::int64_t last_row = std::min(p.m, (i + 1) * mr) - 1;
        for (std::int64_t j = col_block * kBlockTiles; j < std::min(col_panels, (col_block + 1) * kBlockTiles); ++j) {
          if (p.symmetric && j * nr > last_row) break;
          to.row = i * mr;
          to.col = j * nr;
          to.rows = last_row + 1 - to.row;
          to.cols = std::min(nr, p.n - to.col);
          kernel.tile(depth, packed_a + i * row_panel_size, packed_b + j * col_panel_size, to);
        }
      }
    };
    parallel_for(row_blocks * col_blocks, compute);
  }
}

template std::int64_t multiply_scratch<float>(std::int64_t, std::int64_t, std::int64_t);
template std::int64_t multiply_scratch<double>(std::int64_t, std::int64_t, std::int64_t);
template void multiply<float>(const Product<float>&, float*);
template void multiply<double>(const Product<double>&, double*);

}  // namespace trasmuon::cpu
