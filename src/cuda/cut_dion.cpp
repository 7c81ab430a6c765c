// SPDX-License-Identifier: Apache-2.0
#include "cuda/cut_dion.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "cuda/passes/passes.h"
#include "cuda/runtime/check.h"
#include "cuda/runtime/rounding.h"
#include "cuda/step_scalars.h"

namespace trasmuon::cuda {
namespace {

/// What an owner works on: all rows, with the Q that this rank keeps.
Matrix whole_of(const CutMatrix& x) {
  Matrix whole = *x.rows;
  whole.m = whole.weight.rows = x.m();
  return whole;
}

/// The number of DionRows of an owned matrix.
int piece_count(const CutMatrix& x) {
  int count = 0;
  for (const PackedRows& rows : x.gathered) count += ceil_div(rows.count, kChunkRows);
  return count;
}

int chunk_count(const Matrix& x) { return ceil_div(x.m, kChunkRows) * ceil_div(x.n, kChunkCols); }

std::size_t rows_bytes(const CutMatrix& x) {
  const Matrix& rows = *x.rows;
  const auto direction = static_cast<std::size_t>(rows.m * aligned_stride(rows.n)) * size_of(rows.compute);
  return DionStep::scratch_bytes(rows) + Arena::aligned(direction) +
         Arena::aligned(static_cast<std::size_t>(chunk_count(rows)) * sizeof(double));
}

std::size_t owned_bytes(const CutMatrix& x) {
  if (!x.owned) return 0;
  return DionStep::scratch_bytes(whole_of(x)) +
         Arena::aligned(static_cast<std::size_t>(piece_count(x)) * sizeof(double));
}

/// Neighbours of one shape share a bucket.
std::vector<Bucket> buckets_of(const std::vector<Matrix>& matrices) {
  std::vector<Bucket> buckets;
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    const Matrix& x = matrices[k];
    const bool joins =
        k > 0 && matrices[k - 1].m == x.m && matrices[k - 1].n == x.n && matrices[k - 1].basis.cols == x.basis.cols;
    if (!joins)
      buckets.push_back(
          {.rows = static_cast<int>(x.m), .cols = static_cast<int>(x.n), .row_stride = aligned_stride(x.n)});
    ++buckets.back().batch;
  }
  return buckets;
}

std::vector<Matrix> matrices_of(const CutStep& step, const std::vector<std::size_t>& indices, bool whole) {
  std::vector<Matrix> matrices;
  matrices.reserve(indices.size());
  for (const std::size_t i : indices) matrices.push_back(whole ? whole_of(step.matrices[i]) : *step.matrices[i].rows);
  return matrices;
}

std::vector<std::size_t> numbers_up_to(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  for (std::size_t k = 0; k < count; ++k) numbers[k] = k;
  return numbers;
}

}  // namespace

CutDion::CutDion(const DeviceInfo& device, const CutStep& step) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < step.matrices.size(); ++i) {
    if (step.matrices[i].dion != nullptr) order.push_back(i);
  }
  const auto batch_key = [&](std::size_t i) {
    return std::tuple(step.matrices[i].dion, step.matrices[i].rows->compute);
  };
  const auto shape = [&](std::size_t i) {
    const CutMatrix& x = step.matrices[i];
    return std::tuple(x.n(), x.m(), x.rows->basis.cols, x.rows->m);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(batch_key(a), shape(a)) < std::tuple(batch_key(b), shape(b));
  });
  std::size_t for_rows = 0, for_owned = 0, largest = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const CutMatrix& x = step.matrices[order[k]];
    const bool fits = std::max(for_rows + rows_bytes(x), for_owned + owned_bytes(x)) <= kScratchLimit;
    if (k == 0 || !fits || batch_key(order[k]) != batch_key(order[k - 1])) {
      batches_.emplace_back();
      for_rows = for_owned = 0;
    }
    batches_.back().rows.indices.push_back(order[k]);
    if (x.owned) batches_.back().owned.indices.push_back(order[k]);
    for_rows += rows_bytes(x);
    for_owned += owned_bytes(x);
    largest = std::max({largest, for_rows, for_owned});
  }
  scratch_ = DeviceMemory(largest);
  for (Batch& batch : batches_) {
    Arena for_update(scratch_.data()), for_factors(scratch_.data());
    make_rows(batch, step, device.blas, for_update);
    make_owned(batch, step, device.blas, for_factors);
    if (std::max(for_update.used(), for_factors.used()) > scratch_.bytes())
      throw Error("cuda: scratch counted too small");
  }
}

/// Uploads what both have.
void CutDion::make_tables(MatrixTables& tables, const CutStep& step, const std::vector<Matrix>& matrices,
                          const StepScalars* scalars) {
  std::vector<CutDionMatrix> cut;
  for (const std::size_t i : tables.indices) {
    const CutMatrix& x = step.matrices[i];
    cut.push_back({x.sums, x.packed, x.returned});
  }
  StepTables& t = tables.step;
  tables.memory.push_back(uploaded(cut));
  tables.cut = tables.memory.back().as<const CutDionMatrix>();
  tables.memory.push_back(uploaded(tables.matrices));
  t.matrices = tables.memory.back().as<const DeviceMatrix>();
  tables.memory.push_back(uploaded(std::vector<MatrixStatus>(matrices.size())));
  t.status = tables.memory.back().as<MatrixStatus>();
  t.scalars = scalars;
  t.matrix_count = static_cast<int>(matrices.size());
  t.compute = t.momentum = t.direction = matrices.front().compute;
  t.scale = InputScale::keep;
}

void CutDion::make_rows(Batch& batch, const CutStep& step, const Blas& blas, Arena& scratch) {
  MatrixTables& tables = batch.rows;
  const std::vector<Matrix> matrices = matrices_of(step, tables.indices, false);
  std::vector<Bucket> buckets = buckets_of(matrices);
  for (Bucket& b : buckets) {
    const DType compute = matrices.front().compute;
    const std::size_t bytes = static_cast<std::size_t>(std::int64_t{b.rows} * b.row_stride) * size_of(compute);
    b.x = scratch.take_bytes(bytes * static_cast<std::size_t>(b.batch));
    for (int k = 0; k < b.batch; ++k) {
      const Matrix& x = matrices[tables.matrices.size()];
      DeviceMatrix d{};
      d.rows = b.rows;
      d.cols = b.cols;
      d.whole_m = x.whole_m;
      d.direction = {static_cast<std::byte*>(b.x) + static_cast<std::size_t>(k) * bytes, b.row_stride, compute};
      d.chunk_count = chunk_count(x);
      d.input_parts = scratch.take<double>(d.chunk_count);
      tables.matrices.push_back(d);
    }
  }
  tables.dion = std::make_unique<DionStep>(matrices, numbers_up_to(matrices.size()), buckets, blas, scratch);
  make_tables(tables, step, matrices, batch.scalars.get());
  const std::vector<Chunk> chunks = chunks_of(tables.matrices);
  tables.memory.push_back(uploaded(chunks));
  tables.step.chunks = tables.memory.back().as<const Chunk>();
  tables.step.chunk_count = static_cast<int>(chunks.size());
}

void CutDion::make_owned(Batch& batch, const CutStep& step, const Blas& blas, Arena& scratch) {
  MatrixTables& tables = batch.owned;
  if (tables.indices.empty()) return;
  const std::vector<Matrix> matrices = matrices_of(step, tables.indices, true);
  std::vector<DionRows> rows;
  std::vector<DionAnswer> answers;
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    const CutMatrix& x = step.matrices[tables.indices[k]];
    const std::int64_t rank = x.rows->basis.cols;
    const auto bytes = [&](std::int64_t elements) { return static_cast<std::size_t>(elements) * size_of(x.wire); };
    const int matrix = static_cast<int>(k);
    int number = 0;
    for (const PackedRows& held : x.gathered) {
      answers.push_back({matrix, held.answer + bytes(held.count * rank)});
      for (std::int64_t i = 0; i < held.count; i += kChunkRows) {
        rows.push_back({.matrix = matrix,
                        .first = static_cast<int>(held.first + i),
                        .count = static_cast<int>(std::min<std::int64_t>(kChunkRows, held.count - i)),
                        .index = number++,
                        .gathered = held.offset + bytes(i * x.n()),
                        .answer = held.answer + bytes(i * rank)});
      }
    }
    DeviceMatrix d{};
    d.rows = static_cast<int>(x.m());
    d.cols = static_cast<int>(x.n());
    d.whole_m = x.m();
    d.chunk_count = number;
    d.input_parts = scratch.take<double>(number);
    tables.matrices.push_back(d);
  }
  tables.dion =
      std::make_unique<DionStep>(matrices, numbers_up_to(matrices.size()), buckets_of(matrices), blas, scratch);
  make_tables(tables, step, matrices, batch.scalars.get());
  batch.exchange.row_count = static_cast<int>(rows.size());
  batch.exchange.answer_count = static_cast<int>(answers.size());
  tables.memory.push_back(uploaded(rows));
  batch.exchange.rows = tables.memory.back().as<const DionRows>();
  tables.memory.push_back(uploaded(answers));
  batch.exchange.answers = tables.memory.back().as<const DionAnswer>();
}

/// Uploads pointers and scalars that have changed.
void CutDion::refresh(Batch& batch, const CutStep& step, cudaStream_t stream) {
  MatrixTables& tables = batch.rows;
  std::vector<DeviceMatrix> matrices = tables.matrices;
  for (std::size_t k = 0; k < tables.indices.size(); ++k)
    set_pointers(*step.matrices[tables.indices[k]].rows, matrices[k]);
  refresh_table(std::move(matrices), tables.matrices, tables.step.matrices, stream);
  batch.scalars.refresh(scalars_of(*step.matrices[tables.indices.front()].dion), stream);
}

void CutDion::enqueue_rows(CutPhase phase, const MatrixTables& tables, const CutBuffers& b, cudaStream_t stream) {
  const StepTables& t = tables.step;
  switch (phase) {
    case CutPhase::momentum:
      if (t.chunk_count > 0) enqueue_admit_check(t, stream);
      enqueue_cut_dion_tally(t, tables.cut, b.sums, stream);
      break;
    case CutPhase::pack:
      enqueue_cut_dion_admit(t, tables.cut, b.sums, stream);
      enqueue_cut_dion_pack(t, tables.cut, b.rows, stream);
      break;
    case CutPhase::orthogonalize:
    case CutPhase::row_scale: break;
    case CutPhase::apply:
      enqueue_cut_dion_commit(t, tables.cut, tables.dion->matrices(), tables.dion->max_rank(), b.sums, b.returned,
                              stream);
      if (t.chunk_count > 0) enqueue_dion_add_gradient(t, tables.dion->matrices(), stream);
      tables.dion->update(t, stream);
      if (t.chunk_count > 0) enqueue_apply(t, stream);
      break;
  }
}

void CutDion::enqueue_owned(const Batch& batch, const CutBuffers& b, cudaStream_t stream) {
  const MatrixTables& tables = batch.owned;
  if (tables.indices.empty()) return;
  const DionMatrix* matrices = tables.dion->matrices();
  enqueue_cut_dion_admit(tables.step, tables.cut, b.sums, stream);
  enqueue_cut_dion_gather(tables.step, matrices, batch.exchange, b.gathered, stream);
  enqueue_dion_load_basis(tables.step, matrices, stream);
  tables.dion->factorize(tables.step, stream);
  enqueue_cut_dion_answer(tables.step, matrices, batch.exchange, tables.dion->max_rank(), b.directions, stream);
}

void CutDion::enqueue(CutPhase phase, const CutStep& step, cudaStream_t stream) {
  for (Batch& batch : batches_) {
    if (phase == CutPhase::orthogonalize) {
      enqueue_owned(batch, step.buffers, stream);
      continue;
    }
    refresh(batch, step, stream);
    enqueue_rows(phase, batch.rows, step.buffers, stream);
  }
}

}  // namespace trasmuon::cuda
