// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/scratch.h"
#include "stages/matrix.h"
#include "trasmuon/orthogonalize.h"

namespace trasmuon::cpu {

/// Returns the bytes of scratch that newton_schulz() takes.
template <class T>
std::size_t newton_schulz_scratch(std::int64_t rows, std::int64_t cols, std::span<const NewtonSchulzTriple> triples,
                                  NewtonSchulzForm form);

/// Computes out (packed) <- NS(scale * in). `in`, of type T, must not overlap `out`.
template <class T>
void newton_schulz(const MatrixView& in, double scale, std::span<const NewtonSchulzTriple> triples,
                   NewtonSchulzForm form, T* out, Scratch& scratch);

}  // namespace trasmuon::cpu
