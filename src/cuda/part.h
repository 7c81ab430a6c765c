// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "cuda/card.h"
#include "cuda/dion.h"
#include "cuda/kernels.h"
#include "cuda/orthogonalize.h"
#include "stages/matrix.h"

namespace trasmuon::cuda {

/// What the stages ask for, collected before anything is enqueued.
struct StepDescription {
  enum class Kind : std::uint8_t { pipeline, dion, adamw } kind = Kind::pipeline;
  StepScalars scalars{};
  std::optional<OrthogonalizeStage> orthogonalize;
};

/// How a matrix is stepped.
struct Way {
  Method method;
  DType compute = DType::f32, momentum = DType::f32;
  auto key() const { return std::tuple(method.key(), compute, momentum); }
};

Way way_of(const Matrix& x, const StepDescription& step, const Card& card);

/// Matrices that are stepped the same way, as many as the scratch holds at once: tables and iteration.
struct Part {
  Way way;
  std::vector<std::size_t> indices;  ///< into the group's matrices; equal shapes side by side
  std::vector<Bucket> buckets;
  std::vector<DeviceMatrix> matrices;  ///< as uploaded
  std::vector<std::int64_t> measured;  ///< runs of each matrix when its diagnostics were taken
  DeviceMemory tables;
  std::vector<DeviceMemory> recorded;  ///< matrices of steps in graphs of the caller's
  StepMemory memory{};
  std::size_t scratch_offset = 0;
  std::unique_ptr<Orthogonalizer> iteration;
  std::unique_ptr<DionStep> dion;  ///< instead
  bool squares_left = false;       ///< the iteration leaves the row squares of every matrix

  /// Of a matrix, without what the iteration needs for itself.
  static std::size_t scratch_bytes(const Matrix& x, const StepDescription& step, const Way& way);

  void make_buckets(std::span<const Matrix> all, const StepDescription& step);
  /// Lends every matrix its scratch; with nothing to lend it only counts.
  void carve(std::span<const Matrix> all, Carver& scratch);
  std::size_t iteration_scratch_bytes(std::span<const Matrix> all, const StepDescription& step, const Card& card) const;
  void make_iteration(std::span<const Matrix> all, const StepDescription& step, const Card& card, Carver& scratch);
  void make_tables(const StepScalars* scalars);
  /// Uploads the matrices' pointers if they have changed.
  void refresh(std::span<const Matrix> all, cudaStream_t stream);
  /// A table of the matrices as they are now, for a step in a graph of the caller's. It lives as long as the part.
  StepMemory keep_table(std::span<const Matrix> all, cudaStream_t stream);

 private:
  std::vector<DeviceMatrix> pointed_at(std::span<const Matrix> all) const;
};

}  // namespace trasmuon::cuda
