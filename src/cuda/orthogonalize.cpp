// SPDX-License-Identifier: Apache-2.0
#include "cuda/orthogonalize.h"

#include <algorithm>

#include "cuda/check.h"

namespace trasmuon::cuda {
namespace {

/// As many matrices at once as fit.
void orthogonalize_together(const Card& card, std::span<const MatrixView> in, std::span<const MatrixView> out,
                            const OrthogonalizeStage& stage, DType dtype, cudaStream_t stream) {
  const std::size_t count = in.size();
  Bucket bucket{.rows = static_cast<int>(in[0].rows),
                .cols = static_cast<int>(in[0].cols),
                .batch = static_cast<int>(count),
                .row_stride = (static_cast<int>(in[0].cols) + 7) / 8 * 8};
  const std::size_t parts = static_cast<std::size_t>((bucket.rows + kChunkRows - 1) / kChunkRows);
  const std::size_t x_bytes = count * bucket.rows * bucket.row_stride * size_of(dtype);
  const DeviceMemory memory(Carver::aligned(x_bytes) + Carver::aligned(count * sizeof(InOut)) +
                            Carver::aligned(count * parts * sizeof(double)) +
                            count * iteration_scratch_bytes(bucket.rows, bucket.cols, dtype));
  Carver carver(memory.data());
  bucket.x = carver.take_bytes(x_bytes);
  auto* table = carver.take<InOut>(count);
  auto* squares = carver.take<double>(count * parts);
  InputScale scale = InputScale::unit;
  const auto iteration = make_iteration({bucket}, stage, dtype, card, carver, scale);
  if (carver.used() > memory.bytes()) throw Error("cuda: scratch counted too small");

  std::vector<InOut> rows;
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back({{in[i].data, in[i].row_stride, in[i].dtype},
                    {out[i].data, out[i].row_stride, out[i].dtype},
                    squares + i * parts});
  }
  check(cudaMemcpyAsync(table, rows.data(), count * sizeof(InOut), cudaMemcpyHostToDevice, stream),
        "uploading the table of matrices");
  const InOutBatch batch{table, bucket.rows, bucket.cols, bucket.batch, bucket.x, bucket.row_stride, dtype};
  enqueue_load(batch, {stage.eps_relative, stage.eps_absolute, stage.eps_cap}, scale, stream);
  if (iteration != nullptr) iteration->enqueue(stream);
  enqueue_store(batch, stream);
  check(cudaGetLastError(), "orthogonalizing");
  check(cudaStreamSynchronize(stream), "waiting for the orthogonalization");
}

}  // namespace

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

std::unique_ptr<Orthogonalizer> make_iteration(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                               DType dtype, const Card& card, Carver& scratch, InputScale& scale) {
  const bool half = dtype == DType::f16 || dtype == DType::bf16;
  scale = InputScale::unit;
  if (stage.triples.empty()) return nullptr;  // only normalised
  if (half && card.hopper && stage.form != NewtonSchulzForm::standard && fits_gram_form(stage)) {
    scale = InputScale::half_range;
    return make_gram_iteration(buckets, stage, dtype, card.multiprocessors, scratch);
  }
  const Precision precision{dtype, stage.precision == NewtonSchulzPrecision::tf32};
  return make_standard_iteration(buckets, stage, precision, card.blas, scratch);
}

void orthogonalize(const Card& card, std::span<const MatrixView> in, std::span<const MatrixView> out,
                   const OrthogonalizeStage& stage, cudaStream_t stream) {
  if (is_capturing(stream)) throw Error("orthogonalize: cannot be recorded in a graph");
  const DType dtype = iteration_type(stage, in[0].dtype == DType::f64 ? DType::f64 : DType::f32, card);
  constexpr std::size_t kMostScratch = std::size_t{2} << 30, kMostMatrices = 65535;  // a grid's second side
  const std::size_t bytes =
      2 * iteration_scratch_bytes(static_cast<int>(in[0].rows), static_cast<int>(in[0].cols), dtype);
  const std::size_t together = std::clamp(kMostScratch / bytes, std::size_t{1}, kMostMatrices);
  for (std::size_t first = 0; first < in.size(); first += together) {
    const std::size_t count = std::min(together, in.size() - first);
    orthogonalize_together(card, in.subspan(first, count), out.subspan(first, count), stage, dtype, stream);
  }
}

}  // namespace trasmuon::cuda
