// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "cuda/matrix_batch.h"
#include "cuda/runtime/device_info.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/step_scalars.h"
#include "cuda/tables.h"
#include "stages/matrix.h"
#include "stages/plan.h"

namespace trasmuon::cuda {

/// What is planned once for the matrices of a group: how they are sorted into batches, their scratch and tables.
/// Later steps may have other pointers and scalars, but the same shapes and stages.
class GroupPlan {
 public:
  /// Waits for the device.
  GroupPlan(const DeviceInfo& device, std::span<const Matrix> group, Plan step);

  /// Whether the step differs from the planned one in scalars only.
  bool fits(const Plan& step) const { return same_kernels(step_, step); }
  /// Uploads what has changed: pointers and scalars.
  void refresh(std::span<const Matrix> group, const StepScalars& scalars, cudaStream_t stream);

  const Plan& step() const { return step_; }  ///< as planned: later steps may have other scalars
  const std::vector<std::unique_ptr<MatrixBatch>>& batches() const { return batches_; }
  std::vector<StepTables> tables() const;  ///< one per batch
  std::size_t scratch_bytes() const { return scratch_.bytes(); }

 private:
  void make_batches(const DeviceInfo& device, std::span<const Matrix> group);
  void take_scratch(const DeviceInfo& device, std::span<const Matrix> group);

  Plan step_;
  DeviceMemory scratch_;
  DeviceScalars scalars_;
  std::vector<std::unique_ptr<MatrixBatch>> batches_;
};

}  // namespace trasmuon::cuda
