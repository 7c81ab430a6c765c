// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trasmuon/newton_schulz.h"
#include "trasmuon/tensor.h"

// Which form an iteration takes, and how often the Gram form recomputes R = X X^T, for each type of the iterates. The
// steps between two such points are a segment. The reasons are in docs/decisions/0002-gram-form.md.
namespace trasmuon {

/// Returns the largest singular value that `triples` make of those in [0, 1].
inline double largest_singular_value(std::span<const NewtonSchulzTriple> triples) {
  constexpr int kPoints = 64;
  double largest = 0;
  for (int i = 1; i <= kPoints; ++i) {
    double x = static_cast<double>(i) / kPoints;
    for (const NewtonSchulzTriple& t : triples) x *= t.a + x * x * (t.b + x * x * t.c);
    largest = std::max(largest, x);
  }
  return largest;
}

/// Returns the number of steps of the segment that starts after `done` steps.
///
/// Rounding gives R eigenvalues of about -eps |R| where X X^T has none; each step multiplies them by up to a^2, and
/// near -1 they diverge. In f32 and f64 R is recomputed before they reach a hundredth: for the built-in sets after five
/// or six steps in f32. In 16 bits after steps 2, 5, 8, ..., because small eigenvalues are lost after three steps
/// anyway, and before they reach 1: among the built-in sets only polar_express in bf16 needs that, after step 4.
inline std::size_t segment_length(std::span<const NewtonSchulzTriple> triples, std::size_t done, DType iterates) {
  const bool half = iterates == DType::bf16 || iterates == DType::f16;
  const double limit = half ? 1 : 0.015;
  double noise = iterates == DType::f64 ? 0x1p-53 : 0x1p-24;
  if (half) {
    const double largest = largest_singular_value(triples.first(done));
    noise = (iterates == DType::bf16 ? 0x1p-9 : 0x1p-12) * largest * largest;
  }
  const std::size_t left = triples.size() - done;
  for (std::size_t step = 1; step < left; ++step) {
    noise *= triples[done + step - 1].a * triples[done + step - 1].a;
    if (noise > limit || (half && (done + step) % 3 == 2)) return step;
  }
  return left;
}

/// Returns for each step whether the Gram form recomputes R from X after it.
inline std::vector<bool> gram_restarts(std::span<const NewtonSchulzTriple> triples, DType iterates) {
  std::vector<bool> after(triples.size(), false);
  for (std::size_t done = 0; done < triples.size();) {
    done += segment_length(triples, done, iterates);
    if (done < triples.size()) after[done - 1] = true;
  }
  return after;
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
