// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "cuda/newton_schulz/iteration.h"
#include "cuda/runtime/blas.h"
#include "stages/arena.h"
#include "stages/plan.h"
#include "trasmuon/tensor.h"

namespace trasmuon::cuda {

/// How cuBLAS multiplies.
struct Precision {
  DType dtype = DType::f16;  ///< of the iterates
  bool tf32 = false;
};

/// The standard form with cuBLAS, on any device and in any type. Expects an input of norm 1; works in place.
std::unique_ptr<Iteration> make_standard_form(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                              const Precision& precision, const Blas& blas, Arena& scratch);
std::size_t standard_form_scratch_bytes(const std::vector<Bucket>& buckets, DType dtype);

}  // namespace trasmuon::cuda
