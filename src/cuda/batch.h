// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cuda/part.h"

namespace trasmuon::cuda {

/// The matrices of one group on one device: tables, scratch, and the step as a recorded graph.
class Batch {
 public:
  explicit Batch(const Card& card);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// The matrices may point elsewhere than before, but have the shapes they were made with.
  void run(std::span<const Matrix> matrices, const StepDescription& step, cudaStream_t stream);
  /// Gives the step's scalars to all steps that the caller has recorded. Check first: it throws Error if
  /// they cannot take them.
  void check_recorded(const StepDescription& step, cudaStream_t stream) const;
  void refresh_recorded(const StepDescription& step, cudaStream_t stream);
  /// Fills the diagnostics of the matrices [first, first + count). Waits for the device.
  void diagnose(std::span<const Matrix> matrices, std::size_t first, std::size_t count);
  std::size_t workspace_bytes() const { return scratch_.bytes(); }

 private:
  void plan(std::span<const Matrix> matrices, const StepDescription& step);
  void refresh_tables(std::span<const Matrix> matrices, const StepDescription& step, cudaStream_t stream);
  std::vector<StepMemory> keep_tables(std::span<const Matrix> matrices, const StepScalars& scalars);
  void enqueue(std::span<const StepMemory> memories, cudaStream_t stream);  ///< one memory a part
  void record();

  const Card& card_;
  std::optional<StepDescription> planned_;
  std::vector<std::unique_ptr<Part>> parts_;
  DeviceMemory scratch_, scalars_;
  std::vector<std::byte> last_scalars_;
  std::vector<DeviceMemory> recorded_scalars_;  ///< of steps in graphs of the caller's
  bool recordings_void_ = false;                ///< there were some, of an earlier plan
  cudaStream_t recorder_ = nullptr, side_ = nullptr;
  cudaEvent_t fork_ = nullptr, join_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace trasmuon::cuda
