// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/arena.h"
#include "trasmuon/orthogonalize.h"

namespace trasmuon::cpu {

/// Floating-point operations of the standard or the Gram form, symmetric products counted
/// half, as they are computed here.
double newton_schulz_operations(std::int64_t rows, std::int64_t cols, std::span<const NewtonSchulzTriple> triples,
                                NewtonSchulzForm form, bool double_precision);

/// The form `automatic` stands for: the one with fewer operations, unless the matrix is small.
NewtonSchulzForm choose_form(std::int64_t rows, std::int64_t cols, std::span<const NewtonSchulzTriple> triples,
                             bool double_precision);

/// out (packed) <- NS(scale * in). `in` may not overlap `out`. Scratch comes from `arena`.
template <class T>
void newton_schulz(const T* in, std::int64_t rows, std::int64_t cols, std::int64_t row_stride, double scale,
                   std::span<const NewtonSchulzTriple> triples, NewtonSchulzForm form, T* out, Arena& arena);

}  // namespace trasmuon::cpu
