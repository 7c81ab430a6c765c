// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace trasmuon::lab {

/// Rotary positions (Su et al. 2021): position p turns the pair (x_i, x_{i + half}) by the angle p base^(-i / half).
struct RotaryPositions {
  at::Tensor cosine, sine;  ///< [time, head_width / 2]

  /// For `time` positions from 0, in the type and on the device of `options`.
  RotaryPositions(std::int64_t time, std::int64_t head_width, double base, const at::TensorOptions& options);

  at::Tensor rotate(const at::Tensor& x) const;  ///< [..., time, head_width]
};

}  // namespace trasmuon::lab
