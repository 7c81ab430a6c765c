// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/scratch.h"
#include "stages/matrix.h"
#include "trasmuon/orthogonalize.h"

// Newton-Schulz on one thread for matrices that stay in its caches. The bits are those of newton_schulz.cpp.
namespace trasmuon::cpu {

/// Whether a matrix is small: shorter sides would be filled up to a multiple of their length; longer ones are worth
/// packing, and several threads.
constexpr bool is_small(std::int64_t rows, std::int64_t cols) {
  const std::int64_t side = std::min(rows, cols);
  return side >= 16 && side <= 128 && rows * cols <= std::int64_t{256} * 256;
}

template <class T>
std::size_t small_newton_schulz_scratch(std::int64_t rows, std::int64_t cols, NewtonSchulzForm form);

/// Computes out (packed) <- NS(scale * in); `form` is not automatic.
template <class T>
void small_newton_schulz(const MatrixView& in, double scale, std::span<const NewtonSchulzTriple> triples,
                         NewtonSchulzForm form, T* out, Scratch& scratch);

}  // namespace trasmuon::cpu
