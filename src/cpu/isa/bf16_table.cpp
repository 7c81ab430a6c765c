// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, with TRASMUON_ISA naming it.
#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

#include <utility>

#include "cpu/products/bf16_kernels.h"
#include "trasmuon/half.h"

namespace trasmuon::cpu::TRASMUON_ISA {
namespace {

#include "cpu/isa/vector.inl"

#include "cpu/isa/transpose.inl"

#include "cpu/isa/bf16_blocks.inl"
#include "cpu/isa/bf16_multiply.inl"

}  // namespace

extern const Bf16Kernels bf16_table;
const Bf16Kernels bf16_table = {.isa = kIsaName,
                                .begin = begin_multiply,
                                .end = end_multiply,
                                .pack = pack_block,
                                .pack_transposed = transpose_pairs,
                                .multiply = multiply_blocks,
                                .combine = combine_block,
                                .mirror = mirror_block,
                                .transpose = transpose_sums,
                                .store = store_block,
                                .store_unrounded = store_unrounded,
                                .load = load_block};

}  // namespace trasmuon::cpu::TRASMUON_ISA
