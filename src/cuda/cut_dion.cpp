// SPDX-License-Identifier: Apache-2.0
#include "cuda/cut_dion.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "cuda/passes/passes.h"
#include "cuda/runtime/check.h"
#include "cuda/step_scalars.h"

namespace trasmuon::cuda {
namespace {

/// Matrices that need more scratch than this are stepped in several tables.
constexpr std::size_t kScratchLimit = std::size_t{2} << 30;

DeviceView device_view(const MatrixView& x) { return {x.data, x.row_stride, x.dtype}; }

int row_stride_of(std::int64_t n) { return static_cast<int>((n + 7) / 8 * 8); }

int ceil_div(std::int64_t a, int b) { return static_cast<int>((a + b - 1) / b); }

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
  const auto direction = static_cast<std::size_t>(rows.m * row_stride_of(rows.n)) * size_of(rows.compute);
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
          {.rows = static_cast<int>(x.m), .cols = static_cast<int>(x.n), .row_stride = row_stride_of(x.n)});
    ++buckets.back().batch;
  }
  return buckets;
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
  const auto table_key = [&](std::size_t i) {
    return std::tuple(step.matrices[i].dion, step.matrices[i].rows->compute);
  };
  const auto shape = [&](std::size_t i) {
    const CutMatrix& x = step.matrices[i];
    return std::tuple(x.n(), x.m(), x.rows->basis.cols, x.rows->m);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(table_key(a), shape(a)) < std::tuple(table_key(b), shape(b));
  });
  std::size_t for_rows = 0, for_owned = 0, largest = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const CutMatrix& x = step.matrices[order[k]];
    const bool fits = std::max(for_rows + rows_bytes(x), for_owned + owned_bytes(x)) <= kScratchLimit;
    if (k == 0 || !fits || table_key(order[k]) != table_key(order[k - 1])) {
      tables_.emplace_back();
      for_rows = for_owned = 0;
    }
    tables_.back().rows.indices.push_back(order[k]);
    if (x.owned) tables_.back().owned.indices.push_back(order[k]);
    for_rows += rows_bytes(x);
    for_owned += owned_bytes(x);
    largest = std::max({largest, for_rows, for_owned});
  }
  scratch_ = DeviceMemory(largest);
  for (Table& table : tables_) {
    table.scalars = DeviceMemory(sizeof(StepScalars));
    Arena for_update(scratch_.data()), for_factors(scratch_.data());
    make_rows(table, step, device.blas, for_update);
    make_owned(table, step, device.blas, for_factors);
    if (std::max(for_update.used(), for_factors.used()) > scratch_.bytes())
      throw Error("cuda: scratch counted too small");
  }
}

std::vector<Matrix> CutDion::matrices_of(const CutStep& step, const Part& part, bool whole) {
  std::vector<Matrix> matrices;
  for (const std::size_t i : part.indices)
    matrices.push_back(whole ? whole_of(step.matrices[i]) : *step.matrices[i].rows);
  return matrices;
}

/// Uploads what both parts have.
void CutDion::make_tables(Part& part, const CutStep& step, const std::vector<Matrix>& matrices, const Table& table) {
  std::vector<CutDionMatrix> cut;
  for (const std::size_t i : part.indices) {
    const CutMatrix& x = step.matrices[i];
    cut.push_back({x.sums, x.packed, x.returned});
  }
  StepTables& t = part.step;
  part.memory.push_back(uploaded(cut));
  part.cut = part.memory.back().as<const CutDionMatrix>();
  part.memory.push_back(uploaded(part.matrices));
  t.matrices = part.memory.back().as<const DeviceMatrix>();
  part.memory.push_back(uploaded(std::vector<MatrixStatus>(matrices.size())));
  t.status = part.memory.back().as<MatrixStatus>();
  t.scalars = table.scalars.as<const StepScalars>();
  t.matrix_count = static_cast<int>(matrices.size());
  t.compute = t.momentum = t.direction = matrices.front().compute;
  t.scale = InputScale::keep;
}

void CutDion::make_rows(Table& table, const CutStep& step, const Blas& blas, Arena& scratch) {
  Part& part = table.rows;
  const std::vector<Matrix> matrices = matrices_of(step, part, false);
  std::vector<Bucket> buckets = buckets_of(matrices);
  std::vector<Chunk> chunks;
  for (Bucket& b : buckets) {
    const DType compute = matrices.front().compute;
    const std::size_t bytes = static_cast<std::size_t>(std::int64_t{b.rows} * b.row_stride) * size_of(compute);
    b.x = scratch.take_bytes(bytes * static_cast<std::size_t>(b.batch));
    for (int k = 0; k < b.batch; ++k) {
      const auto index = static_cast<int>(part.matrices.size());
      const Matrix& x = matrices[part.matrices.size()];
      DeviceMatrix d{};
      d.rows = b.rows;
      d.cols = b.cols;
      d.whole_m = x.whole_m;
      d.direction = {static_cast<std::byte*>(b.x) + static_cast<std::size_t>(k) * bytes, b.row_stride, compute};
      d.chunk_count = chunk_count(x);
      d.input_parts = scratch.take<double>(d.chunk_count);
      int number = 0;
      for (int row = 0; row < b.rows; row += kChunkRows) {
        for (int col = 0; col < b.cols; col += kChunkCols)
          chunks.push_back({index, row, std::min(row + kChunkRows, b.rows), col, number++});
      }
      part.matrices.push_back(d);
    }
  }
  part.dion = std::make_unique<DionStep>(matrices, numbers_up_to(matrices.size()), buckets, blas, scratch);
  make_tables(part, step, matrices, table);
  part.memory.push_back(uploaded(chunks));
  part.step.chunks = part.memory.back().as<const Chunk>();
  part.step.chunk_count = static_cast<int>(chunks.size());
}

void CutDion::make_owned(Table& table, const CutStep& step, const Blas& blas, Arena& scratch) {
  Part& part = table.owned;
  if (part.indices.empty()) return;
  const std::vector<Matrix> matrices = matrices_of(step, part, true);
  std::vector<DionRows> rows;
  std::vector<DionAnswer> answers;
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    const CutMatrix& x = step.matrices[part.indices[k]];
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
    part.matrices.push_back(d);
  }
  part.dion = std::make_unique<DionStep>(matrices, numbers_up_to(matrices.size()), buckets_of(matrices), blas, scratch);
  make_tables(part, step, matrices, table);
  table.exchange.row_count = static_cast<int>(rows.size());
  table.exchange.answer_count = static_cast<int>(answers.size());
  part.memory.push_back(uploaded(rows));
  table.exchange.rows = part.memory.back().as<const DionRows>();
  part.memory.push_back(uploaded(answers));
  table.exchange.answers = part.memory.back().as<const DionAnswer>();
}

/// Uploads pointers and scalars that have changed.
void CutDion::refresh(Table& table, const CutStep& step, cudaStream_t stream) {
  Part& part = table.rows;
  std::vector<DeviceMatrix> matrices = part.matrices;
  for (std::size_t k = 0; k < part.indices.size(); ++k) {
    const Matrix& m = *step.matrices[part.indices[k]].rows;
    DeviceMatrix& d = matrices[k];
    d.weight = device_view(m.weight);
    d.rounded = device_view(m.rounded);
    d.gradient = device_view(m.gradient);
    d.momentum = device_view(m.momentum);
    d.step = m.step;
    d.skipped = m.skipped;
  }
  if (matrices != part.matrices) {
    part.matrices = std::move(matrices);
    upload(const_cast<DeviceMatrix*>(part.step.matrices), part.matrices.data(),
           part.matrices.size() * sizeof(DeviceMatrix), stream);
  }
  const StepScalars scalars = scalars_of(*step.matrices[part.indices.front()].dion);
  std::vector<std::byte> bytes(sizeof scalars);
  std::memcpy(bytes.data(), &scalars, bytes.size());
  if (bytes == table.last_scalars) return;
  upload(table.scalars.data(), bytes.data(), bytes.size(), stream);
  table.last_scalars = std::move(bytes);
}

void CutDion::enqueue_rows(CutPhase phase, const Part& part, const CutBuffers& b, cudaStream_t stream) {
  const StepTables& t = part.step;
  switch (phase) {
    case CutPhase::momentum:
      if (t.chunk_count > 0) enqueue_admit_check(t, stream);
      enqueue_cut_dion_tally(t, part.cut, b.sums, stream);
      break;
    case CutPhase::pack:
      enqueue_cut_dion_admit(t, part.cut, b.sums, stream);
      enqueue_cut_dion_pack(t, part.cut, b.rows, stream);
      break;
    case CutPhase::orthogonalize:
    case CutPhase::row_scale: break;
    case CutPhase::apply:
      enqueue_cut_dion_commit(t, part.cut, part.dion->matrices(), part.dion->max_rank(), b.sums, b.returned, stream);
      if (t.chunk_count > 0) enqueue_dion_add_gradient(t, part.dion->matrices(), stream);
      part.dion->update(t, stream);
      if (t.chunk_count > 0) enqueue_apply(t, stream);
      break;
  }
}

void CutDion::enqueue_owned(const Table& table, const CutBuffers& b, cudaStream_t stream) {
  const Part& part = table.owned;
  if (part.indices.empty()) return;
  const DionMatrix* matrices = part.dion->matrices();
  enqueue_cut_dion_admit(part.step, part.cut, b.sums, stream);
  enqueue_cut_dion_gather(part.step, matrices, table.exchange, b.gathered, stream);
  enqueue_dion_load_basis(part.step, matrices, stream);
  part.dion->factorize(part.step, stream);
  enqueue_cut_dion_answer(part.step, matrices, table.exchange, part.dion->max_rank(), b.directions, stream);
}

void CutDion::enqueue(CutPhase phase, const CutStep& step, cudaStream_t stream) {
  for (Table& table : tables_) {
    if (phase == CutPhase::orthogonalize) {
      enqueue_owned(table, step.buffers, stream);
      continue;
    }
    refresh(table, step, stream);
    enqueue_rows(phase, table.rows, step.buffers, stream);
  }
}

}  // namespace trasmuon::cuda
