// SPDX-License-Identifier: Apache-2.0
#include "cuda/part.h"

#include <algorithm>
#include <cstring>

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

DType direction_type(const Matrix& x, const StepDescription& step, const Card& card) {
  if (x.compute == DType::f64) return DType::f64;
  if (!step.orthogonalize || step.orthogonalize->triples.empty()) return DType::f32;
  switch (step.orthogonalize->precision) {
    case NewtonSchulzPrecision::automatic:
      return card.hopper && !fits_gram_form(*step.orthogonalize) ? DType::f32 : DType::f16;
    case NewtonSchulzPrecision::f16: return DType::f16;
    case NewtonSchulzPrecision::bf16: return DType::bf16;
    default: return DType::f32;
  }
}

Way::Iteration iteration_of(const Matrix& x, const StepDescription& step, DType direction, const Card& card) {
  using Iteration = Way::Iteration;
  if (step.kind != StepDescription::Kind::pipeline || !step.orthogonalize || step.orthogonalize->triples.empty())
    return Iteration::none;
  const bool half = direction == DType::f16 || direction == DType::bf16;
  if (!half || !card.hopper || step.orthogonalize->form == NewtonSchulzForm::standard ||
      !fits_gram_form(*step.orthogonalize))
    return Iteration::standard;
  return std::min(x.m, x.n) <= kSmallSide ? Iteration::small : Iteration::gram;
}

}  // namespace

Way way_of(const Matrix& x, const StepDescription& step, const Card& card) {
  const DType direction = direction_type(x, step, card);
  return {iteration_of(x, step, direction, card), x.compute, x.momentum.dtype, direction};
}

std::size_t Part::scratch_bytes(const Matrix& x, const Way& way) {
  const int rows = stored_rows(x), cols = stored_cols(x);
  const std::size_t m = static_cast<std::size_t>(x.m), n = static_cast<std::size_t>(x.n);
  const std::size_t row_chunks = static_cast<std::size_t>(ceil_div(rows, kChunkRows));
  const std::size_t strips = static_cast<std::size_t>(ceil_div(cols, kChunkCols));
  return size_of(way.direction) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(round_up(cols, 8)) +
         8 * (n * std::max(row_chunks, strips) + n + row_chunks * strips + 2 * m * std::max(row_chunks, strips) +
              2 * m);
}

void Part::make_buckets(std::span<const Matrix> all, const StepDescription& step) {
  const bool elsewhere = way.iteration == Way::Iteration::gram && gram_form_ends_elsewhere(*step.orthogonalize);
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
  const std::size_t element = size_of(way.direction);
  matrices.clear();
  std::size_t position = 0;
  for (Bucket& b : buckets) {
    const std::size_t stride = std::size_t(b.rows) * b.row_stride * element;
    const int row_chunks = ceil_div(b.rows, kChunkRows), strips = ceil_div(b.cols, kChunkCols);
    b.x = scratch.take_bytes(stride * b.batch);
    b.o = b.in_place ? b.x : scratch.take_bytes(stride * b.batch);
    const auto entry = [&](void* bucket, int k) {
      return DeviceView{bucket == nullptr ? nullptr : static_cast<std::byte*>(bucket) + k * stride, b.row_stride,
                        way.direction};
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

std::size_t Part::iteration_scratch_bytes(const Card& card) const {
  switch (way.iteration) {
    case Way::Iteration::gram: return gram_scratch_bytes(buckets, card.multiprocessors);
    case Way::Iteration::standard: return standard_scratch_bytes(buckets, way.direction);
    default: return 0;
  }
}

void Part::make_iteration(const StepDescription& step, const Card& card, Carver& scratch) {
  memory.scale = step.orthogonalize ? InputScale::unit : InputScale::keep;
  switch (way.iteration) {
    case Way::Iteration::gram:
      memory.scale = InputScale::half_range;
      fused = make_gram_iteration(buckets, *step.orthogonalize, way.direction, true, card.multiprocessors, scratch);
      break;
    case Way::Iteration::small:
      memory.scale = InputScale::half_range;
      iteration = make_small_iteration(buckets, *step.orthogonalize, way.direction);
      break;
    case Way::Iteration::standard: {
      const Precision precision{way.direction, step.orthogonalize->precision == NewtonSchulzPrecision::tf32};
      iteration = make_standard_iteration(buckets, *step.orthogonalize, precision, card.blas, scratch);
      break;
    }
    default: break;
  }
  const bool leaves = fused != nullptr || (iteration != nullptr && iteration->leaves_row_squares());
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
        chunks.push_back({static_cast<int>(k), row, col, index++});
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
  memory.direction = way.direction;
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
  const std::size_t bytes = table.size() * sizeof(DeviceMatrix);
  if (std::memcmp(table.data(), matrices.data(), bytes) == 0) return;
  matrices = std::move(table);
  upload(const_cast<DeviceMatrix*>(memory.matrices), matrices.data(), bytes, stream);
}

StepMemory Part::keep_tables(std::span<const Matrix> all, const StepScalars& scalars, cudaStream_t copies) {
  const BesideRecording beside;
  const auto keep = [&](const void* host, std::size_t bytes) {
    recorded.emplace_back(bytes);
    upload(recorded.back().data(), host, bytes, copies);
    return static_cast<const void*>(recorded.back().data());
  };
  const std::vector<DeviceMatrix> table = pointed_at(all);
  StepMemory kept = memory;
  kept.matrices = static_cast<const DeviceMatrix*>(keep(table.data(), table.size() * sizeof(DeviceMatrix)));
  kept.scalars = static_cast<const StepScalars*>(keep(&scalars, sizeof scalars));
  check(cudaStreamSynchronize(copies), "keeping the tables");
  return kept;
}

}  // namespace trasmuon::cuda
