// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "stages/formulas.h"
#include "trasmuon/tensor.h"

namespace trasmuon::cuda {

/// How the input of the Newton-Schulz iteration is scaled.
enum class InputScale : std::uint8_t {
  keep,        ///< not at all: without orthogonalization the momentum itself is the direction
  unit,        ///< to Frobenius norm 1
  half_range,  ///< to RMS kHalfRangeRms, in the middle of the range of f16
};
constexpr double kHalfRangeRms = 0.125;

/// The factor for an input with this sum of squares. `compute`: f64 or f32.                eq:prenorm_main
__device__ __forceinline__ double scale_of_input(const InputNorm& norm, double squares, double elements, DType compute,
                                                 InputScale scale) {
  if (scale == InputScale::keep) return 1;
  const double target = scale == InputScale::half_range ? kHalfRangeRms * sqrt(elements) : 1;
  return compute == DType::f64 ? input_scale<double>(norm, sqrt(squares), elements, target)
                               : input_scale<float>(norm, sqrt(squares), elements, target);
}

}  // namespace trasmuon::cuda
