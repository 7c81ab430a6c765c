// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/kernels.h"

namespace trasmuon::cuda {

/// What an input with this sum of squares is multiplied by on its way into the iteration.
__device__ __forceinline__ double input_scale(double squares, double elements, const InputEps& eps, InputScale scale) {
  if (scale == InputScale::keep) return 1;
  const double norm = sqrt(squares), root = sqrt(elements);
  const double divisor = norm * (1 + eps.relative / root) + fmin(eps.absolute, eps.cap * norm);
  const double wanted = scale == InputScale::half_range ? kHalfRangeRms * root : 1;
  return divisor > 0 ? wanted / divisor : 0;
}

}  // namespace trasmuon::cuda
