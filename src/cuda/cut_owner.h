// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <vector>

#include "cuda/newton_schulz/iteration_plan.h"
#include "cuda/passes/cut.h"
#include "cuda/runtime/device_info.h"
#include "cuda/runtime/device_memory.h"
#include "stages/cut_step.h"

namespace trasmuon::cuda {

/// The matrices that this rank orthogonalizes for all ranks, in batches that share types, iteration and group. Batches
/// run one after the other and share the scratch.
class CutOwner {
 public:
  /// Matrices whose plans have other stages or coefficients need another owner. scalars[i]: those of matrix i.
  CutOwner(const DeviceInfo& device, const CutStep& step, const std::vector<const StepScalars*>& scalars);
  void enqueue(const CutBuffers& buffers, cudaStream_t stream) const;

 private:
  struct Batch {
    std::vector<const CutMatrix*> matrices;  ///< sorted by shape
    IterationPlan plan;
    OwnedTables tables{};
    DeviceMemory chunks;
    std::unique_ptr<Iteration> iteration;
  };
  static std::vector<Bucket> buckets_of(const Batch& batch, Arena& arena);
  static std::size_t scratch_bytes(const Batch& batch, const DeviceInfo& device);
  static void make_chunks(Batch& batch, const std::vector<Bucket>& buckets);

  DeviceMemory scratch_;
  std::vector<Batch> batches_;
};

}  // namespace trasmuon::cuda
