// SPDX-License-Identifier: Apache-2.0
#include "cuda/cut_step.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "cuda/passes/passes.h"
#include "cuda/runtime/check.h"
#include "cuda/runtime/rounding.h"
#include "cuda/step_scalars.h"

namespace trasmuon::cuda {
namespace {

bool watches(const MuonPipeline& p, EnergyOf matrix) { return p.trust_region && p.trust_region->energy_of == matrix; }

}  // namespace

CutRun::CutRun(const DeviceInfo& device, const CutStep& step) {
  check(cudaDeviceSynchronize(), "waiting for the previous step");
  // Matrices of one group have the same plan.
  const auto key = [&](std::size_t i) {
    const CutMatrix& x = step.matrices[i];
    return std::tuple(x.plan, x.rows->compute, x.rows->momentum.dtype);
  };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < step.matrices.size(); ++i) {
    if (step.matrices[i].dion == nullptr) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k == 0 || key(order[k]) != key(order[k - 1])) tables_.emplace_back();
    tables_.back().indices.push_back(order[k]);
  }
  std::vector<const StepScalars*> scalars(step.matrices.size());
  for (Table& table : tables_) {
    table.plan = *step.matrices[table.indices.front()].plan;
    Arena counter;
    lay_out(table, step, counter);
    table.scratch = DeviceMemory(counter.used());
    Arena arena(table.scratch.data());
    lay_out(table, step, arena);
    make_tables(table);
    table.tables.step.momentum = step.matrices[table.indices.front()].rows->momentum.dtype;
    for (const std::size_t i : table.indices) scalars[i] = table.scalars.get();
  }
  owner_.emplace(device, step, scalars);
  dion_.emplace(device, step);
  // The tables were written on the default stream, for which the caller's stream need not wait.
  check(cudaDeviceSynchronize(), "writing the tables");
}

bool CutRun::fits(const CutStep& step) const {
  return std::all_of(tables_.begin(), tables_.end(), [&](const Table& table) {
    return same_kernels(table.plan, *step.matrices[table.indices.front()].plan);
  });
}

/// Assigns scratch to every matrix; a counting arena only measures it.
void CutRun::lay_out(Table& table, const CutStep& step, Arena& arena) {
  table.matrices.clear();
  table.cut.clear();
  for (const std::size_t i : table.indices) {
    const CutMatrix& x = step.matrices[i];
    const int rows = static_cast<int>(x.rows->m), cols = static_cast<int>(x.n());
    DeviceMatrix d{};
    d.rows = rows;
    d.cols = cols;
    d.whole_m = x.m();
    d.column_part_count = ceil_div(rows, kChunkRows);
    d.column_parts = arena.take<double>(std::int64_t{cols} * d.column_part_count);
    d.row_part_count = ceil_div(cols, kChunkCols);
    d.row_parts64 = arena.take<double>(std::int64_t{rows} * d.row_part_count);
    d.chunk_count = d.column_part_count * d.row_part_count;
    d.input_parts = arena.take<double>(d.chunk_count);
    d.row_factor = x.row_factor;
    const bool travels = table.plan.orthogonalize.has_value();
    const DType packed = travels ? x.wire : x.rows->compute;
    const std::size_t bytes = static_cast<std::size_t>(x.rows->m * x.n()) * size_of(packed);
    d.input = d.direction = {travels ? nullptr : arena.take_bytes(bytes), cols, packed};
    table.matrices.push_back(d);
    table.cut.push_back({nullptr, nullptr, x.v_next, packed});
  }
}

void CutRun::make_tables(Table& table) {
  const std::vector<Chunk> chunks = chunks_of(table.matrices);
  StepTables& t = table.tables.step;
  const auto lay_out_tables = [&](Arena& arena) {
    t.matrices = arena.take<DeviceMatrix>(std::ssize(table.matrices));
    table.tables.cut = arena.take<CutDeviceMatrix>(std::ssize(table.matrices));
    t.status = arena.take<MatrixStatus>(std::ssize(table.matrices));
    t.chunks = arena.take<Chunk>(std::ssize(chunks));
  };
  Arena counter;
  lay_out_tables(counter);
  table.memory = DeviceMemory(counter.used());
  Arena arena(table.memory.data());
  lay_out_tables(arena);
  t.scalars = table.scalars.get();
  t.matrix_count = static_cast<int>(table.matrices.size());
  t.chunk_count = static_cast<int>(chunks.size());
  t.compute = table.matrices.front().input.dtype == DType::f64 ? DType::f64 : DType::f32;
  t.direction = table.matrices.front().input.dtype;
  t.scale = table.plan.orthogonalize ? InputScale::unit : InputScale::keep;
  check(cudaMemset(t.status, 0, table.matrices.size() * sizeof(MatrixStatus)), "cudaMemset");
  if (chunks.empty()) return;
  check(cudaMemcpy(const_cast<Chunk*>(t.chunks), chunks.data(), chunks.size() * sizeof(Chunk), cudaMemcpyHostToDevice),
        "cudaMemcpy");
}

/// Uploads pointers and scalars that have changed.
void CutRun::refresh(Table& table, const CutStep& step, cudaStream_t stream) {
  const CutBuffers& b = step.buffers;
  std::vector<DeviceMatrix> matrices = table.matrices;
  std::vector<CutDeviceMatrix> cut = table.cut;
  for (std::size_t k = 0; k < table.indices.size(); ++k) {
    const CutMatrix& x = step.matrices[table.indices[k]];
    DeviceMatrix& d = matrices[k];
    set_pointers(*x.rows, d);
    d.energy = cut[k].sums = b.sums + x.sums;
    if (b.norms != nullptr) cut[k].norms = b.norms + x.norms;
    if (b.norms != nullptr && watches_direction(*x.plan)) d.energy = cut[k].norms + kNorms;
    if (!table.plan.orthogonalize) continue;
    if (b.rows != nullptr) d.input.data = b.rows + x.packed;
    if (b.returned != nullptr) d.direction.data = const_cast<std::byte*>(b.returned) + x.returned;
  }
  refresh_table(std::move(matrices), table.matrices, table.tables.step.matrices, stream);
  refresh_table(std::move(cut), table.cut, table.tables.cut, stream);
  table.scalars.refresh(scalars_of(*step.matrices[table.indices.front()].plan), stream);
}

void CutRun::enqueue_rows(CutPhase phase, const Table& table, cudaStream_t stream) {
  const CutTables& t = table.tables;
  const bool rows_here = t.step.chunk_count > 0;
  switch (phase) {
    case CutPhase::momentum:
      if (rows_here) enqueue_momentum_parts(t.step, stream);
      enqueue_cut_sums(t, stream);
      if (rows_here && watches(table.plan, EnergyOf::gradient)) enqueue_gradient_energy(t.step, stream);
      break;
    case CutPhase::pack: enqueue_cut_pack(t, stream); break;
    case CutPhase::orthogonalize: break;
    case CutPhase::row_scale:
      if (rows_here) enqueue_row_scale_squares(t.step, stream);
      enqueue_cut_row_scale(t, stream);
      if (rows_here && watches(table.plan, EnergyOf::direction)) enqueue_direction_energy(t.step, stream);
      break;
    case CutPhase::apply:
      enqueue_cut_commit(t, stream);
      if (table.plan.trust_region) enqueue_trust_region(t.step, stream);
      if (rows_here) enqueue_apply(t.step, stream);
      break;
  }
}

void CutRun::enqueue(CutPhase phase, const CutStep& step, cudaStream_t stream) {
  if (phase == CutPhase::orthogonalize) {
    owner_->enqueue(step.buffers, stream);
  } else {
    for (Table& table : tables_) {
      refresh(table, step, stream);
      enqueue_rows(phase, table, stream);
    }
  }
  dion_->enqueue(phase, step, stream);
  check(cudaGetLastError(), "enqueueing a phase of a sharded step");
}

}  // namespace trasmuon::cuda
