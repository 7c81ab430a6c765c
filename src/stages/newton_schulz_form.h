// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trasmuon/newton_schulz.h"
#include "trasmuon/tensor.h"

// Which form an iteration takes, and how often the Gram form recomputes R = X X^T, for each type of the iterates. The
// steps between two such points are a segment. The reasons are in docs/decisions/0002-gram-form.md.
namespace trasmuon {

/// Whether the Gram form recomputes R from X after this many steps in 16 bits. There the small eigenvalues of R are
/// lost in rounding errors after three steps; if they become negative, the polynomial amplifies them.
constexpr bool restarts_after(std::size_t steps, std::size_t total) { return steps < total && steps % 3 == 2; }

/// Returns the number of steps of the segment that starts after `done` steps.
inline std::size_t segment_length(std::span<const NewtonSchulzTriple> triples, std::size_t done, DType iterates) {
  const std::size_t left = triples.size() - done;
  if (iterates == DType::bf16 || iterates == DType::f16) {
    std::size_t steps = std::min<std::size_t>(left, 1);
    while (steps < left && !restarts_after(done + steps, triples.size())) ++steps;
    return steps;
  }
  // Rounding gives R eigenvalues of about -eps where X X^T has none; each step multiplies them by up to a^2, and near
  // -1 they diverge. R is recomputed before they reach a hundredth: for the built-in sets after five or six steps in
  // f32.
  double noise = iterates == DType::f64 ? 0x1p-53 : 0x1p-24;
  for (std::size_t step = 1; step < left; ++step) {
    noise *= triples[done + step - 1].a * triples[done + step - 1].a;
    if (noise > 0.015) return step;
  }
  return left;
}

/// Returns the number of segments from the step after `done` on.
inline std::size_t gram_segments(std::span<const NewtonSchulzTriple> triples, std::size_t done, DType iterates) {
  std::size_t count = 0;
  for (; done < triples.size(); ++count) done += segment_length(triples, done, iterates);
  return count;
}

/// Counts the floating-point operations of the standard or the Gram form; symmetric products count half, as they are
/// computed here.
inline double newton_schulz_operations(std::int64_t rows, std::int64_t cols,
                                       std::span<const NewtonSchulzTriple> triples, NewtonSchulzForm form,
                                       DType iterates) {
  const double s = static_cast<double>(std::min(rows, cols)), l = static_cast<double>(std::max(rows, cols));
  const double t = static_cast<double>(triples.size());
  if (form == NewtonSchulzForm::standard) return t * (3 * s * s * l + s * s * s);
  const double parts = static_cast<double>(gram_segments(triples, 0, iterates));
  return parts * (3 * s * s * l - 3 * s * s * s) + t * 4 * s * s * s;
}

/// Returns the form that `automatic` stands for on the CPU: the one with fewer operations, unless the matrix is small.
inline NewtonSchulzForm choose_form(std::int64_t rows, std::int64_t cols, std::span<const NewtonSchulzTriple> triples,
                                    DType iterates) {
  // Below this the products are too small for their number of operations to matter, and the standard form rounds less.
  constexpr std::int64_t kSmallestGramSide = 64;
  if (std::min(rows, cols) < kSmallestGramSide) return NewtonSchulzForm::standard;
  const auto operations = [&](NewtonSchulzForm form) {
    return newton_schulz_operations(rows, cols, triples, form, iterates);
  };
  return operations(NewtonSchulzForm::gram) < operations(NewtonSchulzForm::standard) ? NewtonSchulzForm::gram
                                                                                     : NewtonSchulzForm::standard;
}

}  // namespace trasmuon
