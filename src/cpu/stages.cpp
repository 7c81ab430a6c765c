// SPDX-License-Identifier: Apache-2.0
#include "cpu/stages.h"

#include <algorithm>

#include "cpu/kernels.h"

namespace trasmuon::cpu {
namespace {

/// Whether what is orthogonalized is not the momentum as it is kept.
bool has_own_input(const Matrix& x, bool nesterov) { return nesterov || x.momentum.dtype != x.compute; }

template <class T>
std::size_t scratch_bytes(const Matrix& x, bool nesterov) {
  return static_cast<std::size_t>(has_own_input(x, nesterov) ? 2 : 1) * Arena::bytes_for<T>(x.m * x.n) +
         Arena::bytes_for<double>(x.n) + Arena::bytes_for<double>(x.m) + Arena::bytes_for<T>(x.m) +
         Arena::bytes_for<T>(x.n);
}

template <class T>
void lend_scratch(Matrix& x, bool nesterov, Arena& arena) {
  const MatrixView like_weight{nullptr, x.compute, x.weight.rows, x.weight.cols, x.weight.cols};
  x.direction = like_weight;
  x.direction.data = arena.take<T>(x.m * x.n);
  x.input = x.momentum;
  if (has_own_input(x, nesterov)) {
    x.input = like_weight;
    x.input.data = arena.take<T>(x.m * x.n);
  }
  x.column_energy = arena.take<double>(x.n);
  x.row_squares = arena.take<double>(x.m);
  x.row_factor = arena.take<T>(x.m);
  x.column_factor = arena.take<T>(x.n);
}

}  // namespace

RowChunks::RowChunks(std::int64_t row_count, std::int64_t cols) : rows(row_count) {
  // At least 16 rows: a chunk's partial sums, one double a column, stay an eighth of its f32.
  constexpr std::int64_t kElements = 32768, kMostChunks = 64, kLeastRows = 16;
  height = std::max({kLeastRows, kElements / std::max(std::int64_t{1}, cols), (rows + kMostChunks - 1) / kMostChunks});
  count = (rows + height - 1) / height;
}

template <class T>
void squares(const MatrixView& x, bool per_row, double* sums, Arena& arena) {
  const auto& kernel = kernels<T>();
  const RowChunks chunks(x.rows, x.cols);
  if (per_row) {
    for_each_chunk(chunks, [&](std::int64_t first, std::int64_t last, std::int64_t) {
      for (std::int64_t i = first; i < last; ++i) sums[i] = kernel.sum_squares(x.row<T>(i), x.cols);
    });
    return;
  }
  arena.reserve(Arena::bytes_for<double>(chunks.count * x.cols));
  double* partial = arena.take<double>(chunks.count * x.cols);
  for_each_chunk(chunks, [&](std::int64_t first, std::int64_t last, std::int64_t chunk) {
    double* own = partial + chunk * x.cols;
    std::fill_n(own, x.cols, 0.0);
    for (std::int64_t i = first; i < last; ++i) kernel.add_squares(x.row<T>(i), own, x.cols);
  });
  add_chunks(partial, chunks.count, x.cols, sums);
}

template void squares<float>(const MatrixView&, bool, double*, Arena&);
template void squares<double>(const MatrixView&, bool, double*, Arena&);

void add_chunks(const double* partial, std::int64_t chunks, std::int64_t cols, double* sums) {
  std::copy_n(partial, cols, sums);
  for (std::int64_t chunk = 1; chunk < chunks; ++chunk) {
    for (std::int64_t j = 0; j < cols; ++j) sums[j] += partial[chunk * cols + j];
  }
}

void CpuStages::begin(std::span<Matrix> batch, const MuonPipeline& pipeline) {
  const bool nesterov = pipeline.momentum.nesterov;
  std::size_t bytes = 0;
  for (const Matrix& x : batch) {
    bytes += x.compute == DType::f64 ? scratch_bytes<double>(x, nesterov) : scratch_bytes<float>(x, nesterov);
  }
  batch_arena_.reserve(bytes);
  for (Matrix& x : batch) {
    if (x.compute == DType::f64) lend_scratch<double>(x, nesterov, batch_arena_);
    else lend_scratch<float>(x, nesterov, batch_arena_);
    if (!pipeline.trust_region) x.column_factor = nullptr;
  }
}

}  // namespace trasmuon::cpu
