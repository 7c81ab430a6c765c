// SPDX-License-Identifier: Apache-2.0
#include "cuda/batch.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#include "cuda/diagnostics.h"
#include "cuda/dion.h"

namespace trasmuon::cuda {
namespace {

// Scratch beyond this is not taken: the matrices go in several parts, one after the other.
std::size_t most_scratch(const Card& card) { return std::max(std::size_t{2} << 30, card.memory / 16); }

int ceil_div(int a, int b) { return (a + b - 1) / b; }
int round_up(int a, int b) { return ceil_div(a, b) * b; }

DeviceView device_view(const MatrixView& x) { return {x.data, x.row_stride, x.dtype}; }

int stored_rows(const Matrix& x) { return static_cast<int>(x.weight.rows); }
int stored_cols(const Matrix& x) { return static_cast<int>(x.weight.cols); }

bool same_shape(const Matrix& a, const Matrix& b) {
  return a.transposed == b.transposed && a.weight.rows == b.weight.rows && a.weight.cols == b.weight.cols;
}

bool same_plan(const StepDescription& a, const StepDescription& b) {
  if (a.kind != b.kind || a.orthogonalize.has_value() != b.orthogonalize.has_value()) return false;
  if (!a.orthogonalize) return true;
  const OrthogonalizeStage &x = *a.orthogonalize, &y = *b.orthogonalize;
  return x.precision == y.precision && x.form == y.form && x.triples == y.triples;
}

}  // namespace

struct Batch::Part {
  std::vector<std::size_t> indices;  // into the group's matrices
  DType compute = DType::f32, momentum = DType::f32, direction = DType::f32;
  std::vector<Bucket> buckets;
  std::vector<DeviceMatrix> matrices;  // as uploaded
  std::vector<std::int64_t> measured;  ///< runs of each matrix when its diagnostics were taken
  DeviceMemory tables;
  StepMemory memory{};
  std::unique_ptr<Orthogonalizer> iteration;
  std::unique_ptr<DionStep> dion;
  InputScale scale = InputScale::keep;
  std::size_t scratch_offset = 0;
  bool squares_left = false;  ///< the iteration leaves the row squares of every matrix

  void make_buckets(std::span<const Matrix> all);
  void carve(std::span<const Matrix> all, Carver& scratch);
  void plan_iteration(const StepDescription& step, const Card& card, Carver& scratch);
  void plan_dion(std::span<const Matrix> all, const Card& card, Carver& scratch);
  void make_tables(const StepScalars* scalars);
  void refresh(std::span<const Matrix> all, cudaStream_t stream);
  static std::size_t scratch_bytes(const Matrix& x, DType direction, StepDescription::Kind kind);
};

std::size_t Batch::Part::scratch_bytes(const Matrix& x, DType direction, StepDescription::Kind kind) {
  if (kind == StepDescription::Kind::adamw) return 0;
  const int rows = stored_rows(x), cols = stored_cols(x);
  const std::size_t m = static_cast<std::size_t>(x.m), n = static_cast<std::size_t>(x.n);
  const std::size_t row_chunks = static_cast<std::size_t>(ceil_div(rows, kChunkRows));
  const std::size_t strips = static_cast<std::size_t>(ceil_div(cols, kChunkCols));
  return size_of(direction) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(round_up(cols, 8)) +
         8 * (n * std::max(row_chunks, strips) + n + row_chunks * strips + 2 * m * std::max(row_chunks, strips) +
              2 * m) +
         (kind == StepDescription::Kind::dion ? dion_scratch_bytes(x)
                                              : iteration_scratch_bytes(rows, cols, direction)) +
         4096;
}

void Batch::Part::make_buckets(std::span<const Matrix> all) {
  for (std::size_t first = 0; first < indices.size();) {
    std::size_t last = first;
    while (last < indices.size() && same_shape(all[indices[last]], all[indices[first]])) ++last;
    const Matrix& x = all[indices[first]];
    buckets.push_back({.rows = stored_rows(x),
                       .cols = stored_cols(x),
                       .batch = static_cast<int>(last - first),
                       .row_stride = round_up(stored_cols(x), 8)});
    first = last;
  }
}

/// Lends every matrix its scratch.
void Batch::Part::carve(std::span<const Matrix> all, Carver& scratch) {
  const std::size_t element = size_of(direction);
  matrices.clear();
  std::size_t position = 0;
  for (Bucket& b : buckets) {
    const std::size_t stride = std::size_t(b.rows) * b.row_stride * element;
    const int row_chunks = ceil_div(b.rows, kChunkRows), strips = ceil_div(b.cols, kChunkCols);
    b.x = scratch.take_bytes(stride * b.batch);
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
      d.direction = {b.x == nullptr ? nullptr : static_cast<std::byte*>(b.x) + k * stride, b.row_stride, direction};
      d.column_part_count = x.transposed ? strips : row_chunks;
      d.column_parts = scratch.take<double>(n * d.column_part_count);
      d.energy = scratch.take<double>(n);
      d.chunk_count = row_chunks * strips;
      d.input_parts = scratch.take<double>(static_cast<std::size_t>(d.chunk_count));
      d.row_part_count = x.transposed ? row_chunks : strips;
      d.row_parts64 = scratch.take<double>(m * d.row_part_count);
      d.row_factor = scratch.take_bytes(m * size_of(compute));
      if (b.row_squares != nullptr) d.row_parts = b.row_squares + std::size_t(k) * tiles * b.rows;
      matrices.push_back(d);
    }
  }
}

void Batch::Part::plan_iteration(const StepDescription& step, const Card& card, Carver& scratch) {
  if (step.orthogonalize) iteration = make_iteration(buckets, *step.orthogonalize, direction, card, scratch, scale);
  squares_left =
      iteration != nullptr && iteration->leaves_row_squares() &&
      std::all_of(matrices.begin(), matrices.end(), [](const DeviceMatrix& d) { return d.row_parts != nullptr; });
  for (DeviceMatrix& d : matrices) {
    if (squares_left) d.row_part_count = ceil_div(d.cols, 256);
    else d.row_parts = nullptr;
  }
}

void Batch::Part::plan_dion(std::span<const Matrix> all, const Card& card, Carver& scratch) {
  for (DeviceMatrix& d : matrices) d.row_factor = nullptr;  // every row counts as it is
  dion = std::make_unique<DionStep>(all, indices, buckets, card.blas, scratch);
}

void Batch::Part::make_tables(const StepScalars* scalars) {
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
  memory.compute = compute;
  memory.momentum = momentum;
  memory.direction = direction;
  check(cudaMemset(memory.status, 0, matrices.size() * sizeof(MatrixStatus)), "cudaMemset");
  check(cudaMemcpy(const_cast<Chunk*>(memory.chunks), chunks.data(), chunks.size() * sizeof(Chunk),
                   cudaMemcpyHostToDevice),
        "cudaMemcpy");
}

/// Uploads the matrices' pointers if they have changed. From pageable memory: CUDA takes its
/// copy before the call returns.
void Batch::Part::refresh(std::span<const Matrix> all, cudaStream_t stream) {
  bool changed = false;
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const Matrix& x = all[indices[k]];
    DeviceMatrix d = matrices[k];
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
    changed |= std::memcmp(&d, &matrices[k], sizeof d) != 0;
    matrices[k] = d;
  }
  if (!changed) return;
  check(cudaMemcpyAsync(const_cast<DeviceMatrix*>(memory.matrices), matrices.data(),
                        matrices.size() * sizeof(DeviceMatrix), cudaMemcpyHostToDevice, stream),
        "uploading the table of matrices");
}

Batch::Batch(const Card& card) : card_(card) {
  check(cudaStreamCreateWithFlags(&recorder_, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming), "cudaEventCreate");
  check(cudaEventCreateWithFlags(&join_, cudaEventDisableTiming), "cudaEventCreate");
  scalars_ = DeviceMemory(sizeof(StepScalars));
}

Batch::~Batch() {
  if (graph_ != nullptr) (void)cudaGraphExecDestroy(graph_);
  (void)cudaEventDestroy(fork_);
  (void)cudaEventDestroy(join_);
  (void)cudaStreamDestroy(recorder_);
  (void)cudaStreamDestroy(side_);
}

/// Sorts the matrices by type and shape and cuts them into parts.
void Batch::plan(std::span<const Matrix> matrices, const StepDescription& step) {
  check(cudaDeviceSynchronize(), "waiting for the step before");
  parts_.clear();
  std::vector<std::size_t> order(matrices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) {
    const Matrix& x = matrices[i];
    return std::tuple(x.compute, x.transposed, x.weight.rows, x.weight.cols);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::size_t filled = 0, most = 0;
  // Diagnostics are measured after the step, from its scratch: each part then has its own.
  const bool keep_scratch = matrices.front().diagnostics != nullptr;
  std::size_t kept = 0;
  for (std::size_t i : order) {
    const DType compute = matrices[i].compute;
    const DType direction = step.orthogonalize ? iteration_type(*step.orthogonalize, compute, card_) : compute;
    const std::size_t bytes = Part::scratch_bytes(matrices[i], direction, step.kind);
    if (parts_.empty() || parts_.back()->compute != matrices[i].compute || filled + bytes > most_scratch(card_)) {
      parts_.push_back(std::make_unique<Part>());
      parts_.back()->compute = matrices[i].compute;
      parts_.back()->momentum = matrices[i].momentum.dtype;  // a group has one for each compute type
      parts_.back()->direction = direction;
      if (keep_scratch) kept = Carver::aligned(kept + filled);
      parts_.back()->scratch_offset = kept;
      filled = 0;
    }
    parts_.back()->indices.push_back(i);
    filled += bytes;
    most = std::max(most, kept + filled);
  }
  if (scratch_.bytes() < most) {
    scratch_ = DeviceMemory();
    scratch_ = DeviceMemory(most);
  }
  for (auto& part : parts_) {
    Carver carver(scratch_.data() + part->scratch_offset);
    part->make_buckets(matrices);
    if (step.kind == StepDescription::Kind::adamw) carver = Carver(nullptr);  // needs none
    part->carve(matrices, carver);
    if (step.kind == StepDescription::Kind::pipeline) part->plan_iteration(step, card_, carver);
    if (step.kind == StepDescription::Kind::dion) part->plan_dion(matrices, card_, carver);
    if (step.kind != StepDescription::Kind::adamw && part->scratch_offset + carver.used() > scratch_.bytes())
      throw Error("cuda: scratch counted too small");
    part->make_tables(reinterpret_cast<const StepScalars*>(scalars_.data()));
  }
  planned_ = step;
  last_scalars_.clear();
  if (graph_ != nullptr) (void)cudaGraphExecDestroy(graph_);
  graph_ = nullptr;
}

void Batch::refresh_tables(std::span<const Matrix> matrices, const StepDescription& step, cudaStream_t stream) {
  for (auto& part : parts_) part->refresh(matrices, stream);
  std::vector<std::byte> bytes(sizeof(StepScalars));
  std::memcpy(bytes.data(), &step.scalars, bytes.size());
  if (bytes == last_scalars_) return;
  check(cudaMemcpyAsync(scalars_.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream),
        "uploading the scalars");
  last_scalars_ = std::move(bytes);
}

void Batch::enqueue(cudaStream_t stream) {
  for (auto& part : parts_) {
    const StepMemory& memory = part->memory;
    if (planned_->kind == StepDescription::Kind::adamw) {
      enqueue_adamw(memory, stream);
      continue;
    }
    if (planned_->kind == StepDescription::Kind::dion) {
      enqueue_admit(memory, stream);
      part->dion->enqueue(memory, stream);
      enqueue_apply(memory, stream);
      continue;
    }
    enqueue_momentum(memory, part->scale, stream);
    const bool trust = planned_->scalars.trust;
    if (trust) {  // beside the iteration: it needs the energies only
      check(cudaEventRecord(fork_, stream), "cudaEventRecord");
      check(cudaStreamWaitEvent(side_, fork_), "cudaStreamWaitEvent");
      enqueue_trust_region(memory, side_);
      check(cudaEventRecord(join_, side_), "cudaEventRecord");
    }
    if (part->iteration) part->iteration->enqueue(stream);
    if (!part->squares_left) enqueue_row_squares(memory, stream);
    enqueue_row_scale(memory, stream);
    if (trust) check(cudaStreamWaitEvent(stream, join_), "cudaStreamWaitEvent");
    enqueue_apply(memory, stream);
  }
  check(cudaGetLastError(), "enqueueing a step");
}

void Batch::record() {
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(recorder_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  try {
    enqueue(recorder_);
  } catch (...) {
    (void)cudaStreamEndCapture(recorder_, &graph);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    throw;
  }
  check(cudaStreamEndCapture(recorder_, &graph), "cudaStreamEndCapture");
  const cudaError_t error = cudaGraphInstantiate(&graph_, graph, 0);
  (void)cudaGraphDestroy(graph);
  check(error, "cudaGraphInstantiate");
}

void Batch::run(std::span<const Matrix> matrices, const StepDescription& step, cudaStream_t stream) {
  if (!planned_ || !same_plan(*planned_, step) || planned_->scalars.trust != step.scalars.trust) {
    refuse_capture(stream);
    plan(matrices, step);
  }
  if (is_capturing(stream)) {
    enqueue(stream);
    return;
  }
  refresh_tables(matrices, step, stream);
  if (graph_ == nullptr) record();
  check(cudaGraphLaunch(graph_, stream), "cudaGraphLaunch");
}

void Batch::diagnose(std::span<const Matrix> matrices, std::size_t first, std::size_t count) {
  check(cudaDeviceSynchronize(), "waiting for the step");
  for (auto& part : parts_) {
    for (std::size_t k = 0; k < part->indices.size(); ++k) {
      const Matrix& x = matrices[part->indices[k]];
      if (part->indices[k] < first || part->indices[k] >= first + count || x.diagnostics == nullptr) continue;
      // Steps may also be replays of a graph of the caller's, so the device does the counting.
      const std::int64_t runs = runs_of(part->memory, static_cast<int>(k));
      if (runs == part->measured[k]) continue;
      *x.diagnostics = measure(part->memory, part->matrices[k], static_cast<int>(k), card_.blas);
      part->measured[k] = runs;
    }
  }
}

}  // namespace trasmuon::cuda
