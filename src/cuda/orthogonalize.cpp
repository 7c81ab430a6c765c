// SPDX-License-Identifier: Apache-2.0
#include "cuda/orthogonalize.h"

#include <algorithm>

#include "cuda/check.h"

namespace trasmuon::cuda {
namespace {

DType iteration_type(const OrthogonalizeStage& stage, DType compute, const Card& card) {
  if (compute == DType::f64) return DType::f64;
  if (stage.triples.empty()) return DType::f32;
  switch (stage.precision) {
    case NewtonSchulzPrecision::automatic: return card.hopper && !fits_gram_form(stage) ? DType::f32 : DType::f16;
    case NewtonSchulzPrecision::f16: return DType::f16;
    case NewtonSchulzPrecision::bf16: return DType::bf16;
    default: return DType::f32;
  }
}

/// Matrices of one shape outside a step: what they need in device memory, counted or taken.
struct Together {
  Bucket bucket;
  InOut* table = nullptr;
  double* squares = nullptr;
  std::size_t parts = 0;  ///< of the squares of a matrix

  Together(const MatrixView& shape, std::size_t count, const Method& method, const OrthogonalizeStage& stage,
           Carver& carver) {
    const int rows = static_cast<int>(shape.rows), cols = static_cast<int>(shape.cols);
    bucket = {.rows = rows,
              .cols = cols,
              .batch = static_cast<int>(count),
              .row_stride = (cols + 7) / 8 * 8,
              .in_place = !method.ends_elsewhere(stage)};
    const std::size_t bytes =
        count * static_cast<std::size_t>(rows) * static_cast<std::size_t>(bucket.row_stride) * size_of(method.dtype);
    bucket.x = carver.take_bytes(bytes);
    bucket.o = bucket.in_place ? bucket.x : carver.take_bytes(bytes);
    parts = static_cast<std::size_t>((rows + kChunkRows - 1) / kChunkRows);
    table = carver.take<InOut>(count);
    squares = carver.take<double>(count * parts);
  }
};

std::size_t bytes_of(const MatrixView& shape, std::size_t count, const Method& method, const OrthogonalizeStage& stage,
                     const Card& card) {
  Carver counter(nullptr);
  const Together together(shape, count, method, stage, counter);
  return counter.used() + method.scratch_bytes({together.bucket}, card);
}

void orthogonalize_together(const Card& card, std::span<const MatrixView> in, std::span<const MatrixView> out,
                            const OrthogonalizeStage& stage, const Method& method, cudaStream_t stream) {
  const std::size_t count = in.size();
  const DeviceMemory memory(bytes_of(in[0], count, method, stage, card));
  Carver carver(memory.data());
  const Together t(in[0], count, method, stage, carver);
  const auto iteration = method.make({t.bucket}, stage, card, carver);
  if (carver.used() > memory.bytes()) throw Error("cuda: scratch counted too small");
  // The caller's stream need not wait for the one the iteration's tables were written on.
  check(cudaDeviceSynchronize(), "writing the tables");

  std::vector<InOut> rows;
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back({{in[i].data, in[i].row_stride, in[i].dtype},
                    {out[i].data, out[i].row_stride, out[i].dtype},
                    t.squares + i * t.parts});
  }
  upload(t.table, rows.data(), count * sizeof(InOut), stream);
  const Bucket& b = t.bucket;
  const InOutBatch batch{t.table, b.rows, b.cols, b.batch, b.x, b.o, b.row_stride, method.dtype};
  enqueue_load(batch, {stage.eps_relative, stage.eps_absolute, stage.eps_cap}, method.input_scale(), stream);
  if (iteration != nullptr) iteration->enqueue(stream);
  enqueue_store(batch, stream);
  check(cudaGetLastError(), "orthogonalizing");
  check(cudaStreamSynchronize(stream), "waiting for the orthogonalization");
}

}  // namespace

Method method_of(const OrthogonalizeStage& stage, DType compute, std::int64_t short_side, const Card& card) {
  using Iteration = Method::Iteration;
  const DType dtype = iteration_type(stage, compute, card);
  if (stage.triples.empty()) return {Iteration::none, dtype};
  const bool half = dtype == DType::f16 || dtype == DType::bf16;
  if (!half || !card.hopper || stage.form == NewtonSchulzForm::standard || !fits_gram_form(stage))
    return {Iteration::standard, dtype};
  return {short_side <= kSmallSide ? Iteration::small : Iteration::gram, dtype};
}

bool Method::ends_elsewhere(const OrthogonalizeStage& stage) const {
  return iteration == Iteration::gram && gram_form_ends_elsewhere(stage);
}

InputScale Method::input_scale() const {
  return iteration == Iteration::gram || iteration == Iteration::small ? InputScale::half_range : InputScale::unit;
}

std::size_t Method::scratch_bytes(const std::vector<Bucket>& buckets, const Card& card) const {
  switch (iteration) {
    case Iteration::gram: return gram_scratch_bytes(buckets, card.multiprocessors);
    case Iteration::standard: return standard_scratch_bytes(buckets, dtype);
    default: return 0;
  }
}

std::unique_ptr<Orthogonalizer> Method::make(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                             const Card& card, Carver& scratch) const {
  switch (iteration) {
    case Iteration::gram: return make_gram_iteration(buckets, stage, dtype, card.multiprocessors, scratch);
    case Iteration::small: return make_small_iteration(buckets, stage, dtype);
    case Iteration::standard: {
      const Precision precision{dtype, stage.precision == NewtonSchulzPrecision::tf32};
      return make_standard_iteration(buckets, stage, precision, card.blas, scratch);
    }
    default: return nullptr;
  }
}

void orthogonalize(const Card& card, std::span<const MatrixView> in, std::span<const MatrixView> out,
                   const OrthogonalizeStage& stage, cudaStream_t stream) {
  if (is_capturing(stream)) throw Error("orthogonalize: cannot be recorded in a graph");
  const DType compute = in[0].dtype == DType::f64 ? DType::f64 : DType::f32;
  const Method method = method_of(stage, compute, std::min(in[0].rows, in[0].cols), card);
  constexpr std::size_t kMostScratch = std::size_t{2} << 30, kMostMatrices = 65535;  // a grid's second side
  const std::size_t together =
      std::clamp(kMostScratch / bytes_of(in[0], 1, method, stage, card), std::size_t{1}, kMostMatrices);
  for (std::size_t first = 0; first < in.size(); first += together) {
    const std::size_t count = std::min(together, in.size() - first);
    orthogonalize_together(card, in.subspan(first, count), out.subspan(first, count), stage, method, stream);
  }
}

}  // namespace trasmuon::cuda
