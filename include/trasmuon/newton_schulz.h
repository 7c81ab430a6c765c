// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "trasmuon/export.h"

namespace trasmuon {

/// One Newton-Schulz step: X <- aX + (bA + cA^2)X with A = X X^T.
struct NewtonSchulzTriple {
  double a, b, c;
  bool operator==(const NewtonSchulzTriple&) const = default;
};

/// A named list of triples; step i uses triple min(i, size - 1).
struct CoefficientSet {
  std::string_view name;
  std::span<const NewtonSchulzTriple> triples;
};

/// The built-in sets: keller, you, polar_express, minimax4.
TRASMUON_API std::span<const CoefficientSet> coefficient_sets();

/// The built-in set of that name; throws Error listing the known names otherwise.
TRASMUON_API const CoefficientSet& coefficient_set(std::string_view name);

/// The triples of `steps` steps: of a built-in set, or of a list of one's own,
/// "a, b, c; a, b, c; ...", the last one repeated. Throws Error on anything else, and on a
/// list that would turn a singular value in (0, 1] round or make it grow without bound.
TRASMUON_API std::vector<NewtonSchulzTriple> newton_schulz_triples(std::string_view coefficients, int steps);

/// The numbers in which the iteration computes. f64 weights always iterate in f64.
enum class NewtonSchulzPrecision : std::uint8_t {
  automatic,  ///< CPU: f32; CUDA: f16, normalised in f32 first
  f32,
  tf32,  ///< CUDA only
  f16,   ///< CUDA only
  bf16,  ///< sums in f32; on the CPU several times faster than f32 with AMX, on others about as fast
};

/// How the iteration is carried out. Both give the same result up to rounding.
enum class NewtonSchulzForm : std::uint8_t {
  automatic,  ///< the cheaper one for the shape
  standard,   ///< on X itself
  gram,       ///< on the small matrix R = X X^T; wins when the sides differ
};

}  // namespace trasmuon
