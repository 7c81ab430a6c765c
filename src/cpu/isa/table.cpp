// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, with TRASMUON_ISA naming it.
#include <utility>

#include "cpu/kernels.h"

namespace trasmuon::cpu::TRASMUON_ISA {
namespace {

#include "cpu/isa/vector.inl"

#include "cpu/isa/transpose.inl"

#include "cpu/isa/elementwise.inl"
#include "cpu/isa/gemm.inl"
#include "cpu/isa/small_product.inl"

template <class T>
constexpr Kernels<T> common() {
  Kernels<T> k{};
  k.tile_rows = kTileRows;
  k.tile_cols = kTileCols<T>;
  k.pack_rows = pack_panel<T, kTileRows>;
  k.pack_cols = pack_panel<T, kTileCols<T>>;
  k.tile = multiply_tile<T>;
  k.small_product = multiply_small<T>;
  k.transpose = transpose_small<T>;
  k.lookahead = lookahead_row<T>;
  k.add_squares = add_squares<T>;
  k.sum_squares = sum_squares<T>;
  k.sum_squares_scaled = sum_squares_scaled<T>;
  k.adamw = adamw_row<T>;
  return k;
}

template <class T, class S>
constexpr void add_dtype(Kernels<T>& k) {
  constexpr auto index = static_cast<int>(dtype_of<S>());
  k.all_usable[index] = all_usable<T, S>;
  k.load[index] = load_row<T, S>;
  k.store[index] = store_row<T, S>;
  k.momentum[index] = momentum_row<T, S>;
  k.apply[index] = apply_row<T, S>;
}

constexpr Kernels<float> f32_kernels() {
  Kernels<float> k = common<float>();
  add_dtype<float, float>(k);
  add_dtype<float, bf16>(k);
  add_dtype<float, f16>(k);
  return k;
}

constexpr Kernels<double> f64_kernels() {
  Kernels<double> k = common<double>();
  add_dtype<double, double>(k);
  return k;
}

}  // namespace

extern const KernelTable table;
const KernelTable table = {kIsaName, f32_kernels(), f64_kernels()};

}  // namespace trasmuon::cpu::TRASMUON_ISA
