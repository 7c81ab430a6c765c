// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <optional>
#include <vector>

#include "cuda/cut_dion.h"
#include "cuda/cut_owner.h"
#include "cuda/passes/cut.h"
#include "cuda/runtime/device_info.h"
#include "cuda/runtime/device_memory.h"
#include "cuda/tables.h"
#include "stages/cut_step.h"

namespace trasmuon::cuda {

/// A step of matrices whose rows are on several ranks: this rank's rows in tables that share types and group, and the
/// matrices that it owns; Dion's apart. The phases are plain launches, because the caller's collectives are between
/// them.
class CutRun final : public CutScratch {
 public:
  /// Waits for the device.
  CutRun(const DeviceInfo& device, const CutStep& step);
  /// Whether a step differs from the one it was made for in pointers and scalars only.
  bool fits(const CutStep& step) const;
  void enqueue(CutPhase phase, const CutStep& step, cudaStream_t stream);

 private:
  struct Table {
    std::vector<std::size_t> indices;  ///< in the step's list
    MuonPipeline plan;                 ///< as planned: later steps may have other scalars
    DeviceMemory memory, scratch;
    DeviceScalars scalars;
    std::vector<DeviceMatrix> matrices;  ///< as uploaded
    std::vector<CutDeviceMatrix> cut;
    CutTables tables{};
  };
  static void lay_out(Table& table, const CutStep& step, Arena& arena);
  static void make_tables(Table& table);
  static void refresh(Table& table, const CutStep& step, cudaStream_t stream);
  static void enqueue_rows(CutPhase phase, const Table& table, cudaStream_t stream);

  std::vector<Table> tables_;
  std::optional<CutOwner> owner_;
  std::optional<CutDion> dion_;
};

}  // namespace trasmuon::cuda
