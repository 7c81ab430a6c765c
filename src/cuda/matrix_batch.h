// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <span>
#include <vector>

#include "cuda/dion_step.h"
#include "cuda/newton_schulz/iteration_plan.h"
#include "cuda/passes/step_data.h"
#include "cuda/runtime/device_info.h"
#include "cuda/runtime/device_memory.h"
#include "stages/arena.h"
#include "stages/matrix.h"
#include "stages/plan.h"

namespace trasmuon::cuda {

/// Some of a group's matrices that are stepped together: they have the same types and the same iteration, and their
/// scratch fits into the limit. Holds their tables on the device and their iteration.
class MatrixBatch {
 public:
  MatrixBatch(const IterationPlan& plan, DType compute, DType momentum);

  /// Adds matrix `index` of the group. Matrices of one shape must be added one after the other.
  void add(std::size_t index) { indices_.push_back(index); }
  /// Scratch for one matrix, without what the iteration needs for itself.
  static std::size_t scratch_bytes(const Matrix& x, const Plan& step, const IterationPlan& plan);

  // The order in which a plan calls these: shapes, scratch (counted, then taken), tables.
  void make_buckets(std::span<const Matrix> group, const Plan& step);
  /// Scratch for all matrices and the iteration.
  std::size_t scratch_bytes(std::span<const Matrix> group, const Plan& step, const DeviceInfo& device);
  /// Takes the scratch and makes the iteration.
  void take_scratch(std::span<const Matrix> group, const Plan& step, const DeviceInfo& device, Arena& scratch);
  void make_tables(const StepScalars* scalars);

  /// Uploads the matrices' pointers if they have changed.
  void refresh(std::span<const Matrix> group, cudaStream_t stream);
  /// The table of matrices with their current pointers.
  std::vector<DeviceMatrix> current_table(std::span<const Matrix> group) const;
  /// Fills the diagnostics of those matrices whose index in the group is in [first, first + count).
  void diagnose(std::span<const Matrix> group, std::size_t first, std::size_t count, const Blas& blas);

  const StepTables& tables() const { return tables_; }
  Iteration* iteration() const { return iteration_.get(); }  ///< null: none
  const DionStep* dion() const { return dion_.get(); }       ///< null unless the rule is Dion
  /// Whether the iteration writes the row squares of every matrix.
  bool has_row_squares() const { return has_row_squares_; }

 private:
  void lay_out(std::span<const Matrix> group, Arena& scratch);
  void make_iteration(const Plan& step, const DeviceInfo& device, Arena& scratch);

  IterationPlan plan_;
  DType compute_, momentum_;
  std::vector<std::size_t> indices_;  ///< in the group's list
  std::vector<Bucket> buckets_;
  std::vector<DeviceMatrix> matrices_;  ///< as uploaded
  std::vector<std::int64_t> measured_;  ///< each matrix's number of runs when its diagnostics were last computed
  DeviceMemory table_memory_;
  StepTables tables_{};
  std::unique_ptr<Iteration> iteration_;
  std::unique_ptr<DionStep> dion_;
  bool has_row_squares_ = false;
};

}  // namespace trasmuon::cuda
