// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "cuda/passes/step_data.h"
#include "cuda/runtime/device_memory.h"
#include "stages/matrix.h"

// What whole and sharded steps have in common: how the tables that kernels read are filled.
namespace trasmuon::cuda {

DeviceView device_view(const MatrixView& x);

/// Points `device` at the weight, gradient and state of `x`.
void set_pointers(const Matrix& x, DeviceMatrix& device);

/// All chunks of the matrices, in their order.
std::vector<Chunk> chunks_of(const std::vector<DeviceMatrix>& matrices);

/// Uploads a table if it differs from the one on the device, of which `last` is a copy.
template <class Entry>
void refresh_table(std::vector<Entry> now, std::vector<Entry>& last, const Entry* device, cudaStream_t stream) {
  if (now == last) return;
  last = std::move(now);
  upload(const_cast<Entry*>(device), last.data(), last.size() * sizeof(Entry), stream);
}

/// The scalars of a step on the device.
class DeviceScalars {
 public:
  DeviceScalars() : memory_(sizeof(StepScalars)) {}
  const StepScalars* get() const { return memory_.as<const StepScalars>(); }
  /// Uploads them if they have changed.
  void refresh(const StepScalars& scalars, cudaStream_t stream);

 private:
  DeviceMemory memory_;
  std::vector<std::byte> last_;  ///< as uploaded
};

}  // namespace trasmuon::cuda
