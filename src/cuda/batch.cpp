// SPDX-License-Identifier: Apache-2.0
#include "cuda/batch.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#include "cuda/diagnostics.h"

namespace trasmuon::cuda {
namespace {

// Scratch beyond this is not taken: the matrices go in several parts, one after the other.
std::size_t most_scratch(const Card& card) { return std::max(std::size_t{2} << 30, card.memory / 16); }

bool same_plan(const StepDescription& a, const StepDescription& b) {
  if (a.kind != b.kind || a.scalars.trust != b.scalars.trust) return false;
  if (!a.orthogonalize || !b.orthogonalize) return a.orthogonalize.has_value() == b.orthogonalize.has_value();
  const OrthogonalizeStage &x = *a.orthogonalize, &y = *b.orthogonalize;
  return x.precision == y.precision && x.form == y.form && x.triples == y.triples;
}

}  // namespace

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

/// Sorts the matrices by the way they are stepped and by shape, and cuts them into parts.
void Batch::plan(std::span<const Matrix> matrices, const StepDescription& step) {
  check(cudaDeviceSynchronize(), "waiting for the step before");
  planned_.reset();  // until the new plan is whole
  if (graph_ != nullptr) (void)cudaGraphExecDestroy(graph_);
  graph_ = nullptr;
  recordings_void_ |= !recorded_scalars_.empty();
  recorded_scalars_.clear();
  parts_.clear();
  std::vector<std::size_t> order(matrices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) {
    const Matrix& x = matrices[i];
    return std::tuple(way_of(x, step, card_).key(), x.transposed, x.weight.rows, x.weight.cols);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  const bool needs_scratch = step.kind != StepDescription::Kind::adamw;
  std::size_t filled = 0;
  for (std::size_t i : order) {
    const Way way = way_of(matrices[i], step, card_);
    const std::size_t bytes = Part::scratch_bytes(matrices[i], step, way);
    if (parts_.empty() || parts_.back()->way.key() != way.key() || filled + bytes > most_scratch(card_)) {
      parts_.push_back(std::make_unique<Part>());
      parts_.back()->way = way;
      filled = 0;
    }
    parts_.back()->indices.push_back(i);
    filled += bytes;
  }
  // Diagnostics are measured after the step, from its scratch: each part then has its own.
  const bool keep_scratch = matrices.front().diagnostics != nullptr;
  std::size_t most = 0;
  for (auto& part : parts_) {
    part->make_buckets(matrices, step);
    Carver counter(nullptr);
    part->carve(matrices, counter);
    if (!needs_scratch) continue;
    const std::size_t bytes = Carver::aligned(counter.used() + part->iteration_scratch_bytes(matrices, step, card_));
    part->scratch_offset = keep_scratch ? most : 0;
    most = keep_scratch ? most + bytes : std::max(most, bytes);
  }
  if (scratch_.bytes() < most) {
    scratch_ = DeviceMemory();
    scratch_ = DeviceMemory(most);
  }
  for (auto& part : parts_) {
    if (needs_scratch) {
      Carver carver(scratch_.data() + part->scratch_offset);
      part->carve(matrices, carver);
      part->make_iteration(matrices, step, card_, carver);
      if (part->scratch_offset + carver.used() > scratch_.bytes()) throw Error("cuda: scratch counted too small");
    }
    part->make_tables(reinterpret_cast<const StepScalars*>(scalars_.data()));
  }
  last_scalars_.clear();
  // The caller's stream need not wait for the one the tables were written on.
  check(cudaDeviceSynchronize(), "writing the tables");
  planned_ = step;
}

void Batch::refresh_tables(std::span<const Matrix> matrices, const StepDescription& step, cudaStream_t stream) {
  for (auto& part : parts_) part->refresh(matrices, stream);
  std::vector<std::byte> bytes(sizeof(StepScalars));
  std::memcpy(bytes.data(), &step.scalars, bytes.size());
  if (bytes == last_scalars_) return;
  upload(scalars_.data(), bytes.data(), bytes.size(), stream);
  last_scalars_ = std::move(bytes);
}

/// Tables that stay as they are now, whatever later steps are given: a graph of the caller's does what was
/// recorded, until its scalars are refreshed. They live as long as the plan.
std::vector<StepMemory> Batch::keep_tables(std::span<const Matrix> matrices, const StepScalars& scalars) {
  const BesideRecording beside;
  DeviceMemory kept(sizeof scalars);
  upload(kept.data(), &scalars, kept.bytes(), recorder_);
  std::vector<StepMemory> memories;
  for (auto& part : parts_) {
    memories.push_back(part->keep_table(matrices, recorder_));
    memories.back().scalars = reinterpret_cast<const StepScalars*>(kept.data());
  }
  check(cudaStreamSynchronize(recorder_), "keeping the tables");
  recorded_scalars_.push_back(std::move(kept));
  recordings_void_ = false;
  return memories;
}

void Batch::enqueue(std::span<const StepMemory> memories, cudaStream_t stream) {
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const std::unique_ptr<Part>& part = parts_[k];
    const StepMemory& memory = memories[k];
    if (planned_->kind == StepDescription::Kind::adamw) {
      enqueue_adamw(memory, stream);
      continue;
    }
    if (part->dion) {
      enqueue_admit(memory, stream);
      part->dion->enqueue(memory, stream);
      enqueue_apply(memory, stream);
      continue;
    }
    enqueue_energies(memory, stream);
    const bool trust = planned_->scalars.trust;
    if (trust) {  // beside the next pass, which leaves room on the multiprocessors; the iteration does not
      check(cudaEventRecord(fork_, stream), "cudaEventRecord");
      check(cudaStreamWaitEvent(side_, fork_), "cudaStreamWaitEvent");
      enqueue_trust_region(memory, side_);
      check(cudaEventRecord(join_, side_), "cudaEventRecord");
    }
    enqueue_momentum(memory, stream);
    if (part->iteration) part->iteration->enqueue(stream);
    if (!part->squares_left) enqueue_row_squares(memory, stream);
    enqueue_row_scale(memory, stream);
    if (trust) check(cudaStreamWaitEvent(stream, join_), "cudaStreamWaitEvent");
    enqueue_apply(memory, stream);
  }
  check(cudaGetLastError(), "enqueueing a step");
}

void Batch::record() {
  std::vector<StepMemory> memories;
  for (const auto& part : parts_) memories.push_back(part->memory);
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(recorder_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  try {
    enqueue(memories, recorder_);
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
  if (!planned_ || !same_plan(*planned_, step)) {
    refuse_capture(stream);
    plan(matrices, step);
  }
  if (is_capturing(stream)) {
    enqueue(keep_tables(matrices, step.scalars), stream);
    return;
  }
  refresh_tables(matrices, step, stream);
  if (graph_ == nullptr) record();
  check(cudaGraphLaunch(graph_, stream), "cudaGraphLaunch");
}

void Batch::check_recorded(const StepDescription& step, cudaStream_t stream) const {
  if (is_capturing(stream)) throw Error("refresh_recorded: cannot be recorded itself, call it between replays");
  if (recordings_void_ || (!recorded_scalars_.empty() && !same_plan(*planned_, step)))
    throw Error("refresh_recorded: what a step consists of has changed since it was recorded, record it anew");
}

void Batch::refresh_recorded(const StepDescription& step, cudaStream_t stream) {
  for (const DeviceMemory& scalars : recorded_scalars_) upload(scalars.data(), &step.scalars, scalars.bytes(), stream);
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
