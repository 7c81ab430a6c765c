// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "trasmuon/device.h"
#include "trasmuon/export.h"
#include "trasmuon/newton_schulz.h"
#include "trasmuon/tensor.h"

namespace trasmuon {

struct NewtonSchulzOptions {
  int steps = 5;                        ///< 0 returns the normalised input
  std::string coefficients = "keller";  ///< a built-in set, or a list of one's own
  NewtonSchulzForm form = NewtonSchulzForm::automatic;
  double eps = 1e-7;  ///< X = input / (||input||_F + eps)
  NewtonSchulzPrecision precision = NewtonSchulzPrecision::automatic;
  Device device = Device::cpu();  ///< of the memory of `in` and `out`
  void* stream = nullptr;         ///< CUDA: the cudaStream_t whose work comes before
};

/// out <- NS(in / (||in||_F + eps)), for one matrix or each matrix of a 3-D batch.
/// `in` and `out` have the same shape and may be the same memory; dtypes may differ
/// (f64 only with f64). Arithmetic is f64 for f64 and f32, or as `precision` says, otherwise.
/// Every finite input works, also where squares of its entries would leave f64.
/// Singular values land in the set's band around 1; small ones stay small. Returns when it is done.
TRASMUON_API void orthogonalize(const TensorView& in, const TensorView& out, const NewtonSchulzOptions& options = {});

}  // namespace trasmuon
