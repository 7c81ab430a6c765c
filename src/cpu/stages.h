// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "cpu/arena.h"
#include "cpu/thread_pool.h"
#include "stages/backend.h"

namespace trasmuon::cpu {

/// One source file per stage. Has scratch for one batch at a time; a stage uses all threads,
/// unless it is itself called inside a parallel region.
class CpuStages final : public Stages {
 public:
  void begin(std::span<Matrix> batch, const MuonPipeline& pipeline) override;
  void admit(std::span<Matrix> batch, bool skip_nonfinite) override;
  void momentum(std::span<Matrix> batch, const MomentumStage& stage) override;
  void orthogonalize(std::span<Matrix> batch, const OrthogonalizeStage& stage) override;
  void keep_momentum(std::span<Matrix> batch) override;
  void row_scale(std::span<Matrix> batch, const RowScaleStage& stage) override;
  void keep_rows(std::span<Matrix> batch, bool norm_needed) override;
  void calibrate(std::span<Matrix> batch, const CalibrateStage& stage, double lr) override;
  void trust_region(std::span<Matrix> batch, const TrustRegionStage& stage) override;
  void apply(std::span<Matrix> batch, double decay) override;
  void adamw(std::span<Matrix> batch, const AdamWOptions& options) override;
  void dion(std::span<Matrix> batch, const DionOptions& options) override;
  /// out <- NS(in), outside any step.
  void orthogonalize(const MatrixView& in, const MatrixView& out, const OrthogonalizeStage& stage);

  std::size_t workspace_bytes() const { return batch_arena_.capacity() + scratch_.capacity(); }

 private:
  Arena batch_arena_;  ///< what lives through a batch: O, energies, factors
  Arena scratch_;      ///< what lives through one matrix of one stage
};

/// body.template operator()<T>(matrix) for every active matrix, T its compute type.
template <class Body>
void for_each_active(std::span<Matrix> batch, Body&& body) {
  for (Matrix& x : batch) {
    if (!x.active) continue;
    if (x.compute == DType::f64) body.template operator()<double>(x);
    else body.template operator()<float>(x);
  }
}

/// Rows per task of an elementwise pass. Depends on the shape alone, so that sums of
/// per-task results do not depend on the number of threads.
struct RowChunks {
  std::int64_t rows, height, count;
  RowChunks(std::int64_t row_count, std::int64_t cols);
};

/// Calls body(first_row, last_row, chunk) for every chunk.
template <class Body>
void for_each_chunk(const RowChunks& chunks, Body&& body) {
  parallel_for(chunks.count, [&](std::int64_t chunk, int) {
    const std::int64_t first = chunk * chunks.height;
    const std::int64_t last = first + chunks.height < chunks.rows ? first + chunks.height : chunks.rows;
    body(first, last, chunk);
  });
}

/// sums[i] <- sum_j x_ij^2 (per_row) or sums[j] <- sum_i x_ij^2.
template <class T>
void squares(const MatrixView& x, bool per_row, double* sums, Arena& arena);

/// sums[j] <- sum over chunks of partial[chunk * cols + j], in the order of the chunks.
void add_chunks(const double* partial, std::int64_t chunks, std::int64_t cols, double* sums);

}  // namespace trasmuon::cpu
