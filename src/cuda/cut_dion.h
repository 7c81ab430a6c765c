// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <vector>

#include "cuda/dion_step.h"
#include "cuda/passes/cut_dion.h"
#include "cuda/runtime/device_info.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/tables.h"
#include "stages/cut_step.h"

namespace trasmuon::cuda {

/// Dion's step of matrices whose rows are on several ranks: this rank's rows, and the matrices that it owns, in batches
/// of one group and type. Batches run one after the other and share the scratch.
class CutDion {
 public:
  CutDion(const DeviceInfo& device, const CutStep& step);
  void enqueue(CutPhase phase, const CutStep& step, cudaStream_t stream);

 private:
  /// Matrices with their tables on the device.
  struct MatrixTables {
    std::vector<std::size_t> indices;    ///< in the step's list; matrices of one shape are neighbours
    std::vector<DeviceMatrix> matrices;  ///< as uploaded
    std::vector<DeviceMemory> memory;
    const CutDionMatrix* cut = nullptr;
    std::unique_ptr<DionStep> dion;
    StepTables step{};
  };
  struct Batch {
    MatrixTables rows, owned;
    OwnedDion exchange{};
    DeviceScalars scalars;
  };
  static void make_tables(MatrixTables& tables, const CutStep& step, const std::vector<Matrix>& matrices,
                          const StepScalars* scalars);
  static void make_rows(Batch& batch, const CutStep& step, const Blas& blas, Arena& scratch);
  static void make_owned(Batch& batch, const CutStep& step, const Blas& blas, Arena& scratch);
  static void refresh(Batch& batch, const CutStep& step, cudaStream_t stream);
  static void enqueue_rows(CutPhase phase, const MatrixTables& tables, const CutBuffers& buffers, cudaStream_t stream);
  static void enqueue_owned(const Batch& batch, const CutBuffers& buffers, cudaStream_t stream);

  DeviceMemory scratch_;
  std::vector<Batch> batches_;
};

}  // namespace trasmuon::cuda
