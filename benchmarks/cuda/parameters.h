// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "trasmuon/optimizer.h"
#include "workload.h"

namespace trasmuon::bench {

/// Random weights and gradients on cuda:0, freed with this object, which must outlive its optimizers.
class CudaParameters {
 public:
  /// dtype: f32, bf16 or f16.
  CudaParameters(std::span<const NamedMatrix> matrices, DType dtype);

  Optimizer optimizer(const Options& options) const;
  std::span<const TensorView> weights() const { return weights_; }
  std::span<const TensorView> gradients() const { return gradients_; }

 private:
  struct Free {
    void operator()(void* block) const;
  };
  /// Copies the set's values to the device, converted to dtype.
  std::vector<TensorView> upload(MatrixSet& matrix_set, DType dtype);

  std::vector<NamedMatrix> matrices_;
  std::vector<std::unique_ptr<void, Free>> blocks_;
  std::vector<TensorView> weights_, gradients_;
};

}  // namespace trasmuon::bench
