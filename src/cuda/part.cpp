// SPDX-License-Identifier: Apache-2.0
#include "cuda/part.h"

#include <algorithm>

namespace trasmuon::cuda {
namespace {

int ceil_div(int a, int b) { return (a + b - 1) / b; }
int round_up(int a, int b) { return ceil_div(a, b) * b; }

DeviceView device_view(const MatrixView& x) { return {x.data, x.row_stride, x.dtype}; }

int stored_rows(const Matrix& x) { return static_cast<int>(x.weight.rows); }
int stored_cols(const Matrix& x) { return static_cast<int>(x.weight.cols); }

bool same_shape(const Matrix& a, const Matrix& b) {
  return a.transposed == b.transposed && a.weight.rows == b.weight.rows && a.weight.cols == b.weight.cols;
}

}  // namespace

Way way_of(const Matrix& x, const StepDescription& step, const Card& card) {
  Method method{.dtype = x.compute};
  if (step.orthogonalize) method = method_of(*step.orthogonalize, x.compute, std::min(x.m, x.n), card);
  return {method, x.compute, x.momentum.dtype};
}

std::size_t Part::scratch_bytes(const Matrix& x, const StepDescription& step, const Way& way) {
  if (step.kind == StepDescription::Kind::adamw) return 0;
  const int rows = stored_rows(x), cols = stored_cols(x);
  const std::size_t m = static_cast<std::size_t>(x.m), n = static_cast<std::size_t>(x.n);
  const std::size_t row_chunks = static_cast<std::size_t>(ceil_div(rows, kChunkRows));
  const std::size_t strips = static_cast<std::size_t>(ceil_div(cols, kChunkCols));
  const std::size_t for_dion = step.kind == StepDescription::Kind::dion ? dion_scratch_bytes(x) : 0;
  return for_dion +
         size_of(way.method.dtype) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(round_up(cols, 8)) +
         8 * (n * std::max(row_chunks, strips) + n + row_chunks * strips + 2 * m * std::max(row_chunks, strips) +
              2 * m);
}

void Part::make_buckets(std::span<const Matrix> all, const StepDescription& step) {
  const bool elsewhere = step.orthogonalize && way.method.ends_elsewhere(*step.orthogonalize);
  for (std::size_t first = 0; first < indices.size();) {
    std::size_t last = first;
    while (last < indices.size() && same_shape(all[indices[last]], all[indices[first]])) ++last;
    const Matrix& x = all[indices[first]];
    buckets.push_back({.rows = stored_rows(x),
                       .cols = stored_cols(x),
                       .batch = static_cast<int>(last - first),
                       .row_stride = round_up(stored_cols(x), 8),
                       .in_place = !elsewhere});
    first = last;
  }
}

void Part::carve(std::span<const Matrix> all, Carver& scratch) {
  const std::size_t element = size_of(way.method.dtype);
  matrices.clear();
  std::size_t position = 0;
  for (Bucket& b : buckets) {
    const std::size_t stride = std::size_t(b.rows) * b.row_stride * element;
    const int row_chunks = ceil_div(b.rows, kChunkRows), strips = ceil_div(b.cols, kChunkCols);
    b.x = scratch.take_bytes(stride * b.batch);
    b.o = b.in_place ? b.x : scratch.take_bytes(stride * b.batch);
    const auto entry = [&](void* bucket, int k) {
      return DeviceView{bucket == nullptr ? nullptr : static_cast<std::byte*>(bucket) + k * stride, b.row_stride,
                        way.method.dtype};
    };
    const bool transposed = all[indices[position]].transposed;
    const int tiles = ceil_div(b.cols, 256);
    if (!transposed) b.row_squares = scratch.take<float>(std::size_t(b.batch) * tiles * b.rows);
    for (int k = 0; k < b.batch; ++k, ++position) {
      const Matrix& x = all[indices[position]];
      DeviceMatrix d{};
      d.rows = b.rows;
      d.cols = b.cols;
      d.transposed = x.transposed;
      const auto m = static_cast<std::size_t>(x.m), n = static_cast<std::size_t>(x.n);
      d.input = entry(b.x, k);
      d.direction = entry(b.o, k);
      d.column_part_count = x.transposed ? strips : row_chunks;
      d.column_parts = scratch.take<double>(n * d.column_part_count);
      d.energy = scratch.take<double>(n);
      d.chunk_count = row_chunks * strips;
      d.input_parts = scratch.take<double>(static_cast<std::size_t>(d.chunk_count));
      d.row_part_count = x.transposed ? row_chunks : strips;
      d.row_parts64 = scratch.take<double>(m * d.row_part_count);
      d.row_factor = scratch.take_bytes(m * size_of(way.compute));
      if (b.row_squares != nullptr) d.row_parts = b.row_squares + std::size_t(k) * tiles * b.rows;
      matrices.push_back(d);
    }
  }
}

std::size_t Part::iteration_scratch_bytes(std::span<const Matrix> all, const StepDescription& step,
                                          const Card& card) const {
  if (step.kind != StepDescription::Kind::dion) return way.method.scratch_bytes(buckets, card);
  std::size_t bytes = 0;
  for (std::size_t i : indices) bytes += dion_scratch_bytes(all[i]);
  return bytes;
}

void Part::make_iteration(std::span<const Matrix> all, const StepDescription& step, const Card& card, Carver& scratch) {
  if (step.kind == StepDescription::Kind::dion) {
    for (DeviceMatrix& d : matrices) d.row_factor = nullptr;  // every row counts as it is
    dion = std::make_unique<DionStep>(all, indices, buckets, card.blas, scratch);
    return;
  }
  memory.scale = step.orthogonalize ? way.method.input_scale() : InputScale::keep;
  if (step.orthogonalize) {
    iteration = way.method.make(buckets, *step.orthogonalize, card, scratch);
  }
  const bool leaves = iteration != nullptr && iteration->leaves_row_squares();
  squares_left = leaves;
  for (DeviceMatrix& d : matrices) {
    if (!leaves) d.row_parts = nullptr;
    if (d.row_parts != nullptr) d.row_part_count = ceil_div(d.cols, 256);
    squares_left &= d.row_parts != nullptr;
  }
}

void Part::make_tables(const StepScalars* scalars) {
  std::vector<Chunk> chunks;
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    int index = 0;
    for (int row = 0; row < matrices[k].rows; row += kChunkRows) {
      for (int col = 0; col < matrices[k].cols; col += kChunkCols)
        chunks.push_back({static_cast<int>(k), row, std::min(row + kChunkRows, matrices[k].rows), col, index++});
    }
  }
  Carver counter(nullptr);
  const auto layout = [&](Carver& carver) {
    memory.matrices = carver.take<DeviceMatrix>(matrices.size());
    memory.status = carver.take<MatrixStatus>(matrices.size());
    memory.chunks = carver.take<Chunk>(chunks.size());
  };
  layout(counter);
  tables = DeviceMemory(counter.used());
  Carver carver(tables.data());
  layout(carver);
  measured.assign(matrices.size(), 0);
  memory.scalars = scalars;
  memory.matrix_count = static_cast<int>(matrices.size());
  memory.chunk_count = static_cast<int>(chunks.size());
  memory.compute = way.compute;
  memory.momentum = way.momentum;
  memory.direction = way.method.dtype;
  check(cudaMemset(memory.status, 0, matrices.size() * sizeof(MatrixStatus)), "cudaMemset");
  check(cudaMemcpy(const_cast<Chunk*>(memory.chunks), chunks.data(), chunks.size() * sizeof(Chunk),
                   cudaMemcpyHostToDevice),
        "cudaMemcpy");
}

/// The table with the pointers of now.
std::vector<DeviceMatrix> Part::pointed_at(std::span<const Matrix> all) const {
  std::vector<DeviceMatrix> table = matrices;
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const Matrix& x = all[indices[k]];
    DeviceMatrix& d = table[k];
    d.weight = device_view(x.weight);
    d.rounded = device_view(x.rounded);
    d.gradient = device_view(x.gradient);
    d.momentum = device_view(x.momentum);
    d.second_moment = device_view(x.second_moment);
    d.v_row = x.v_row;
    d.c_ema = x.c_ema;
    d.c_last = x.c_last;
    d.c_sum = x.c_sum;
    d.e_ref = x.e_ref;
    d.gamma_sum = x.gamma_sum;
    d.step = x.step;
    d.skipped = x.skipped;
  }
  return table;
}

void Part::refresh(std::span<const Matrix> all, cudaStream_t stream) {
  std::vector<DeviceMatrix> table = pointed_at(all);
  if (table == matrices) return;
  matrices = std::move(table);
  upload(const_cast<DeviceMatrix*>(memory.matrices), matrices.data(), matrices.size() * sizeof(DeviceMatrix), stream);
}

StepMemory Part::keep_table(std::span<const Matrix> all, cudaStream_t stream) {
  const std::vector<DeviceMatrix> table = pointed_at(all);
  recorded.emplace_back(table.size() * sizeof(DeviceMatrix));
  upload(recorded.back().data(), table.data(), recorded.back().bytes(), stream);
  StepMemory kept = memory;
  kept.matrices = reinterpret_cast<const DeviceMatrix*>(recorded.back().data());
  return kept;
}

}  // namespace trasmuon::cuda
