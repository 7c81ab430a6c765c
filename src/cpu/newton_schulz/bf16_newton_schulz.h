// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/scratch.h"
#include "stages/matrix.h"
#include "trasmuon/newton_schulz.h"

namespace trasmuon::cpu {

/// A shorter side than this is iterated in f32: filled up to blocks of 32, such matrices would cost more in bf16.
constexpr std::int64_t kSmallestBf16Side = 16;

/// Returns the bytes of scratch that bf16_newton_schulz() takes.
std::size_t bf16_newton_schulz_scratch(std::int64_t rows, std::int64_t cols,
                                       std::span<const NewtonSchulzTriple> triples, NewtonSchulzForm form);

/// Computes out (packed) <- NS(scale * in) with iterates in bf16, sums in f32 and at least one step. `in` is f32 and
/// must not overlap `out`.
void bf16_newton_schulz(const MatrixView& in, double scale, std::span<const NewtonSchulzTriple> triples,
                        NewtonSchulzForm form, float* out, Scratch& scratch);

}  // namespace trasmuon::cpu
