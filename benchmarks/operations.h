// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "stages/newton_schulz_form.h"

// Floating-point operations of Newton-Schulz on an s x l matrix, s <= l.
namespace trasmuon::bench {

/// X X^T, A^2 and P X as dense products: (4a + 2) s^3 a step, a = l / s.
inline double standard_operations(std::int64_t rows, std::int64_t cols, int steps) {
  const double s = static_cast<double>(std::min(rows, cols)), l = static_cast<double>(std::max(rows, cols));
  return steps * (4 * s * s * l + 2 * s * s * s);
}

/// Operations that our implementation does, with the default coefficients.
inline double our_operations(std::int64_t rows, std::int64_t cols, int steps, NewtonSchulzForm form,
                             DType iterates = DType::f32) {
  const auto triples = newton_schulz_triples("keller", steps);
  if (form == NewtonSchulzForm::automatic) form = choose_form(rows, cols, triples, iterates);
  return newton_schulz_operations(rows, cols, triples, form, iterates);
}

}  // namespace trasmuon::bench
