// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <span>
#include <vector>

#include "cuda/plan.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/stream.h"

namespace trasmuon::cuda {

/// A step recorded once as a CUDA graph and replayed at every step. Pointers and scalars are in the plan's tables, so
/// they may change between replays.
class RecordedStep {
 public:
  /// `recorder`: a stream to record on.
  RecordedStep(const GroupPlan& plan, SideStream& side, const Stream& recorder);
  RecordedStep(const RecordedStep&) = delete;
  RecordedStep& operator=(const RecordedStep&) = delete;
  ~RecordedStep();
  void replay(cudaStream_t stream) const;

 private:
  cudaGraphExec_t graph_ = nullptr;
};

/// Tables of the steps that the caller has captured into graphs of its own. Such a step keeps the pointers and scalars
/// that it was captured with, until refresh(). Lives as long as the plan.
class CapturedSteps {
 public:
  bool empty() const { return scalars_.empty(); }
  /// Makes tables, one per batch, with the current pointers and scalars. May be called during a capture; `uploads` is a
  /// stream that is not being captured.
  std::vector<StepTables> add(const GroupPlan& plan, std::span<const Matrix> group, const StepScalars& scalars,
                              const Stream& uploads);
  /// Gives these scalars to all captured steps.
  void refresh(const StepScalars& scalars, cudaStream_t stream);

 private:
  std::vector<DeviceMemory> scalars_;   ///< one per captured step
  std::vector<DeviceMemory> matrices_;  ///< one per captured step and batch
};

}  // namespace trasmuon::cuda
