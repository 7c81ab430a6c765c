// SPDX-License-Identifier: Apache-2.0
#include "cuda/matrix_batch.h"

#include <algorithm>

#include "cuda/hopper/tile_sizes.h"
#include "cuda/passes/diagnostics.h"
#include "cuda/runtime/rounding.h"
#include "cuda/step_scalars.h"
#include "cuda/tables.h"

namespace trasmuon::cuda {
namespace {

int stored_rows(const Matrix& x) { return static_cast<int>(x.weight.rows); }
int stored_cols(const Matrix& x) { return static_cast<int>(x.weight.cols); }

bool same_shape(const Matrix& a, const Matrix& b) {
  return a.transposed == b.transposed && a.weight.rows == b.weight.rows && a.weight.cols == b.weight.cols;
}

}  // namespace

MatrixBatch::MatrixBatch(const IterationPlan& plan, DType compute, DType momentum)
    : plan_(plan), compute_(compute), momentum_(momentum) {}

std::size_t MatrixBatch::scratch_bytes(const Matrix& x, const Plan& step, const IterationPlan& plan) {
  if (std::holds_alternative<AdamWOptions>(step)) return 0;
  const int rows = stored_rows(x), cols = stored_cols(x);
  const std::size_t m = static_cast<std::size_t>(x.m), n = static_cast<std::size_t>(x.n);
  const std::size_t row_chunks = static_cast<std::size_t>(ceil_div(rows, kChunkRows));
  const std::size_t col_chunks = static_cast<std::size_t>(ceil_div(cols, kChunkCols));
  const std::size_t for_dion = std::holds_alternative<DionOptions>(step) ? DionStep::scratch_bytes(x) : 0;
  return for_dion +
         size_of(plan.dtype) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(aligned_stride(cols)) +
         8 * (n * std::max(row_chunks, col_chunks) + n + row_chunks * col_chunks +
              2 * m * std::max(row_chunks, col_chunks) + 2 * m);
}

void MatrixBatch::make_buckets(std::span<const Matrix> group, const Plan& step) {
  const OrthogonalizeStage* stage = orthogonalization_of(step);
  const bool in_place = stage == nullptr || plan_.in_place(*stage);
  for (std::size_t first = 0; first < indices_.size();) {
    std::size_t last = first;
    while (last < indices_.size() && same_shape(group[indices_[last]], group[indices_[first]])) ++last;
    const Matrix& x = group[indices_[first]];
    buckets_.push_back({.rows = stored_rows(x),
                        .cols = stored_cols(x),
                        .batch = static_cast<int>(last - first),
                        .row_stride = aligned_stride(stored_cols(x)),
                        .in_place = in_place});
    first = last;
  }
}

std::size_t MatrixBatch::scratch_bytes(std::span<const Matrix> group, const Plan& step, const DeviceInfo& device) {
  if (std::holds_alternative<AdamWOptions>(step)) return 0;
  Arena counter;
  lay_out(group, counter);
  if (!std::holds_alternative<DionOptions>(step)) return counter.used() + plan_.scratch_bytes(buckets_, device);
  std::size_t bytes = counter.used();
  for (std::size_t i : indices_) bytes += DionStep::scratch_bytes(group[i]);
  return bytes;
}

void MatrixBatch::take_scratch(std::span<const Matrix> group, const Plan& step, const DeviceInfo& device,
                               Arena& scratch) {
  if (std::holds_alternative<AdamWOptions>(step)) {
    Arena no_scratch;
    lay_out(group, no_scratch);
    return;
  }
  lay_out(group, scratch);
  if (std::holds_alternative<DionOptions>(step)) {
    for (DeviceMatrix& d : matrices_) d.row_factor = nullptr;  // Dion has no row scale
    dion_ = std::make_unique<DionStep>(group, indices_, buckets_, device.blas, scratch);
  } else {
    make_iteration(step, device, scratch);
  }
}

/// Assigns scratch to every matrix; a counting arena only measures it.
void MatrixBatch::lay_out(std::span<const Matrix> group, Arena& scratch) {
  const std::size_t element = size_of(plan_.dtype);
  matrices_.clear();
  std::size_t position = 0;
  for (Bucket& b : buckets_) {
    const std::size_t stride = std::size_t(b.rows) * b.row_stride * element;
    const int row_chunks = ceil_div(b.rows, kChunkRows), col_chunks = ceil_div(b.cols, kChunkCols);
    b.x = scratch.take_bytes(stride * b.batch);
    b.o = b.in_place ? b.x : scratch.take_bytes(stride * b.batch);
    const auto view = [&](void* bucket, int k) {
      return DeviceView{bucket == nullptr ? nullptr : static_cast<std::byte*>(bucket) + k * stride, b.row_stride,
                        plan_.dtype};
    };
    const bool transposed = group[indices_[position]].transposed;
    const int tiles = row_square_tiles(b.cols);
    if (!transposed) b.row_squares = scratch.take<float>(std::int64_t{b.batch} * tiles * b.rows);
    for (int k = 0; k < b.batch; ++k, ++position) {
      const Matrix& x = group[indices_[position]];
      DeviceMatrix d{};
      d.rows = b.rows;
      d.cols = b.cols;
      d.transposed = x.transposed;
      d.whole_m = x.whole_m;
      d.input = view(b.x, k);
      d.direction = view(b.o, k);
      d.column_part_count = x.transposed ? col_chunks : row_chunks;
      d.column_parts = scratch.take<double>(x.n * d.column_part_count);
      d.energy = scratch.take<double>(x.n);
      d.chunk_count = row_chunks * col_chunks;
      d.input_parts = scratch.take<double>(d.chunk_count);
      d.row_part_count = x.transposed ? row_chunks : col_chunks;
      d.row_parts64 = scratch.take<double>(x.m * d.row_part_count);
      d.row_factor = scratch.take_bytes(static_cast<std::size_t>(x.m) * size_of(compute_));
      if (b.row_squares != nullptr) d.row_parts = b.row_squares + std::size_t(k) * tiles * b.rows;
      matrices_.push_back(d);
    }
  }
}

void MatrixBatch::make_iteration(const Plan& step, const DeviceInfo& device, Arena& scratch) {
  tables_.scale = InputScale::keep;
  if (const OrthogonalizeStage* stage = orthogonalization_of(step)) {
    tables_.scale = plan_.input_scale();
    iteration_ = plan_.make(buckets_, *stage, device, scratch);
  }
  const bool written = iteration_ != nullptr && iteration_->writes_row_squares();
  has_row_squares_ = written;
  for (DeviceMatrix& d : matrices_) {
    if (!written) d.row_parts = nullptr;
    if (d.row_parts != nullptr) d.row_part_count = row_square_tiles(d.cols);
    has_row_squares_ &= d.row_parts != nullptr;
  }
}

void MatrixBatch::make_tables(const StepScalars* scalars) {
  const std::vector<Chunk> chunks = chunks_of(matrices_);
  const auto lay_out_tables = [&](Arena& arena) {
    tables_.matrices = arena.take<DeviceMatrix>(std::ssize(matrices_));
    tables_.status = arena.take<MatrixStatus>(std::ssize(matrices_));
    tables_.chunks = arena.take<Chunk>(std::ssize(chunks));
  };
  Arena counter;
  lay_out_tables(counter);
  table_memory_ = DeviceMemory(counter.used());
  Arena arena(table_memory_.data());
  lay_out_tables(arena);
  measured_.assign(matrices_.size(), 0);
  tables_.scalars = scalars;
  tables_.matrix_count = static_cast<int>(matrices_.size());
  tables_.chunk_count = static_cast<int>(chunks.size());
  tables_.compute = compute_;
  tables_.momentum = momentum_;
  tables_.direction = plan_.dtype;
  check(cudaMemset(tables_.status, 0, matrices_.size() * sizeof(MatrixStatus)), "cudaMemset");
  check(cudaMemcpy(const_cast<Chunk*>(tables_.chunks), chunks.data(), chunks.size() * sizeof(Chunk),
                   cudaMemcpyHostToDevice),
        "cudaMemcpy");
}

std::vector<DeviceMatrix> MatrixBatch::current_table(std::span<const Matrix> group) const {
  std::vector<DeviceMatrix> table = matrices_;
  for (std::size_t k = 0; k < indices_.size(); ++k) set_pointers(group[indices_[k]], table[k]);
  return table;
}

void MatrixBatch::refresh(std::span<const Matrix> group, cudaStream_t stream) {
  refresh_table(current_table(group), matrices_, tables_.matrices, stream);
}

void MatrixBatch::diagnose(std::span<const Matrix> group, std::size_t first, std::size_t count, const Blas& blas) {
  for (std::size_t k = 0; k < indices_.size(); ++k) {
    const Matrix& x = group[indices_[k]];
    if (indices_[k] < first || indices_[k] >= first + count || x.diagnostics == nullptr) continue;
    // The device counts the runs, because the caller may also replay steps in graphs of its own.
    const std::int64_t runs = runs_of(tables_, static_cast<int>(k));
    if (runs == measured_[k]) continue;
    *x.diagnostics = measure(tables_, matrices_[k], static_cast<int>(k), blas);
    measured_[k] = runs;
  }
}

}  // namespace trasmuon::cuda
