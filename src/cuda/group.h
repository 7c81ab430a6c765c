// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <optional>
#include <span>

#include "cuda/plan.h"
#include "cuda/recording.h"
#include "cuda/runtime/device_info.h"
#include "cuda/runtime/stream.h"

namespace trasmuon::cuda {

/// The matrices of one group on one device: their plan and the recorded step.
class Group {
 public:
  explicit Group(const DeviceInfo& device) : device_(device) {}

  /// Allocates and records what run() needs.
  void prepare(std::span<const Matrix> matrices, const Plan& step, cudaStream_t stream);
  /// Enqueues a step that was prepared; while the stream is being captured, into the caller's graph. The matrices must
  /// have the shapes of the first step; their addresses may change.
  void run(std::span<const Matrix> matrices, const Plan& step, cudaStream_t stream);
  /// Throws Error if the captured steps cannot take the scalars of this step.
  void check_recorded(const Plan& step, cudaStream_t stream) const;
  /// Gives the scalars of this step to all steps that the caller has captured. Call check_recorded first.
  void refresh_recorded(const Plan& step, cudaStream_t stream);
  /// Fills the diagnostics of the matrices [first, first + count). Waits for the device.
  void diagnose(std::span<const Matrix> matrices, std::size_t first, std::size_t count);
  std::size_t workspace_bytes() const { return plan_ ? plan_->scratch_bytes() : 0; }

 private:
  void make_plan(std::span<const Matrix> matrices, const Plan& step);

  const DeviceInfo& device_;
  Stream own_;  ///< for recording and uploads while the caller's stream is being captured
  SideStream side_;
  std::optional<GroupPlan> plan_;
  std::optional<RecordedStep> recorded_;
  CapturedSteps captured_;
  bool captured_outdated_ = false;  ///< the caller has captured steps of an earlier plan, and none of this one
};

}  // namespace trasmuon::cuda
