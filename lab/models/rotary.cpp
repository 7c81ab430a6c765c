// SPDX-License-Identifier: Apache-2.0
#include "lab/models/rotary.h"

#include <cmath>

namespace trasmuon::lab {

RotaryPositions::RotaryPositions(std::int64_t time, std::int64_t head_width, double base,
                                 const at::TensorOptions& options) {
  const std::int64_t half = head_width / 2;
  // Angles in double: in f32 those of late positions lose digits.
  const at::TensorOptions exact = options.dtype(at::kDouble);
  const at::Tensor frequencies = at::exp(at::arange(half, exact) * (-std::log(base) / static_cast<double>(half)));
  const at::Tensor angles = at::outer(at::arange(time, exact), frequencies);
  cosine = angles.cos().to(options);
  sine = angles.sin().to(options);
}

at::Tensor RotaryPositions::rotate(const at::Tensor& x) const {
  const std::int64_t half = x.size(-1) / 2;
  const at::Tensor first = x.narrow(-1, 0, half), second = x.narrow(-1, half, half);
  return at::cat({first * cosine - second * sine, second * cosine + first * sine}, -1);
}

}  // namespace trasmuon::lab
