// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cuda/newton_schulz/iteration.h"
#include "cuda/passes/input_scale.h"
#include "cuda/runtime/device_info.h"
#include "stages/arena.h"
#include "stages/plan.h"
#include "trasmuon/tensor.h"

namespace trasmuon::cuda {

/// In which form and type a matrix is orthogonalized.
struct IterationPlan {
  enum class Form : std::uint8_t {
    none,      ///< no iteration: the input is only normalised, or not even that
    gram,      ///< gram_form.h: one launch for all matrices
    small,     ///< small_form.h: one block of threads per matrix
    standard,  ///< standard_form.h: cuBLAS
  } form = Form::none;
  DType dtype = DType::f32;  ///< of the iterates
  auto key() const { return std::pair(form, dtype); }

  /// Whether the output can be in the input's memory.
  bool in_place(const OrthogonalizeStage& stage) const;
  /// How the iteration expects its input to be scaled.
  InputScale input_scale() const;
  std::size_t scratch_bytes(const std::vector<Bucket>& buckets, const DeviceInfo& device) const;
  /// Null for Form::none.
  std::unique_ptr<Iteration> make(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                  const DeviceInfo& device, Arena& scratch) const;
};

/// `compute`: the compute type of the matrix, f64 or f32.
IterationPlan plan_iteration(const OrthogonalizeStage& stage, DType compute, std::int64_t short_side,
                             const DeviceInfo& device);

}  // namespace trasmuon::cuda
