// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/arena.h"
#include "trasmuon/orthogonalize.h"

namespace trasmuon::cpu {

/// The form `automatic` stands for, by the number of multiplications.
NewtonSchulzForm choose_form(std::int64_t rows, std::int64_t cols, std::size_t steps, bool double_precision);

/// out (packed) <- NS(scale * in). `in` may not overlap `out`. Scratch comes from `arena`.
template <class T>
void newton_schulz(const T* in, std::int64_t rows, std::int64_t cols, std::int64_t row_stride, double scale,
                   std::span<const NewtonSchulzTriple> triples, NewtonSchulzForm form, T* out, Arena& arena);

}  // namespace trasmuon::cpu
