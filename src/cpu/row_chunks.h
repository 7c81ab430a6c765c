// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/kernels.h"
#include "cpu/scratch.h"
#include "cpu/thread_pool.h"
#include "stages/matrix.h"

// Elementwise passes over a matrix, in chunks of rows that threads take one by one.
namespace trasmuon::cpu {

/// Rows per task of an elementwise pass. Depends on the shape alone, so that sums of per-task results do not depend on
/// the number of threads.
struct RowChunks {
  static constexpr std::int64_t kMostChunks = 64;
  std::int64_t rows, height, count;

  RowChunks(std::int64_t row_count, std::int64_t cols) : rows(row_count) {
    // At least 16 rows: a chunk's partial sums, one double per column, stay an eighth of its f32 elements.
    constexpr std::int64_t kElements = 32768, kLeastRows = 16;
    height =
        std::max({kLeastRows, kElements / std::max(std::int64_t{1}, cols), (rows + kMostChunks - 1) / kMostChunks});
    count = (rows + height - 1) / height;
  }
};

/// Calls body(first_row, last_row, chunk) for every chunk.
template <class Body>
void for_each_chunk(const RowChunks& chunks, Body&& body) {
  parallel_for(chunks.count, [&](std::int64_t chunk) {
    const std::int64_t first = chunk * chunks.height;
    body(first, std::min(first + chunks.height, chunks.rows), chunk);
  });
}

/// sums[j] <- sum over chunks of partial[chunk * cols + j], in the order of the chunks.
inline void add_chunks(const double* partial, std::int64_t chunks, std::int64_t cols, double* sums) {
  std::copy_n(partial, cols, sums);
  for (std::int64_t chunk = 1; chunk < chunks; ++chunk) {
    for (std::int64_t j = 0; j < cols; ++j) sums[j] += partial[chunk * cols + j];
  }
}

/// sums[i] <- sum_j x_ij^2.
template <class T>
void row_squares(const MatrixView& x, double* sums) {
  for_each_chunk(RowChunks(x.rows, x.cols), [&](std::int64_t first, std::int64_t last, std::int64_t) {
    for (std::int64_t i = first; i < last; ++i) sums[i] = kernels<T>().sum_squares(x.row<T>(i), x.cols);
  });
}

/// Partial sums of column_squares, one row per chunk.
inline double* column_partials(std::int64_t rows, std::int64_t cols, Arena& arena) {
  return arena.take<double>(RowChunks(rows, cols).count * cols);
}

/// sums[j] <- sum_i x_ij^2.
template <class T>
void column_squares(const MatrixView& x, double* sums, Scratch& scratch) {
  const RowChunks chunks(x.rows, x.cols);
  double* partial = scratch.lay_out([&](Arena& arena) { return column_partials(x.rows, x.cols, arena); });
  for_each_chunk(chunks, [&](std::int64_t first, std::int64_t last, std::int64_t chunk) {
    double* own = partial + chunk * x.cols;
    std::fill_n(own, x.cols, 0.0);
    for (std::int64_t i = first; i < last; ++i) kernels<T>().add_squares(x.row<T>(i), own, x.cols);
  });
  add_chunks(partial, chunks.count, x.cols, sums);
}

}  // namespace trasmuon::cpu
