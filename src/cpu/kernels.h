// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "stages/elementwise.h"
#include "trasmuon/tensor.h"

// The inner loops, compiled once per instruction set (isa/table.cpp) and chosen at run time. They work on one row or
// one tile; threads, shapes and strides are handled above them.
namespace trasmuon::cpu {

/// Depth of a packed panel. The same for every instruction set: it fixes the order in
/// which a product is summed.
constexpr std::int64_t kPanelDepth = 384;

/// One panel to pack: `width` rows or columns of an operand, `depth` deep.
template <class T>
struct PanelSource {
  const T* data;
  std::int64_t across;  ///< stride from one row (column) of the panel to the next
  std::int64_t along;   ///< stride along the summed dimension
  std::int64_t width;   ///< <= the panel's full width; the rest is zero-filled
  std::int64_t depth;
  double scale;  ///< multiplied in double, so that tiny inputs survive
};

/// Where and how a computed tile is stored: C = alpha * tile + (first ? beta * D + diagonal * I : C).
template <class T>
struct TileTarget {
  T* c;
  std::int64_t ldc;
  const T* d;  ///< may be null
  std::int64_t ldd;
  std::int64_t row, col;    ///< of the tile's corner in C
  std::int64_t rows, cols;  ///< of the tile that lie inside C
  T alpha, beta, diagonal;
  bool first, last;  ///< slab of the summed dimension
  bool symmetric;    ///< write the lower triangle and mirror it on the last slab
};

/// C = alpha A B + beta D + diagonal I for matrices that stay in the caches, with one row stride for all of them. Rows
/// and columns of C are multiples of kSmallUnit.
template <class T>
struct SmallProduct {
  std::int64_t rows, cols, depth, stride;
  const T *a, *b;
  T* c;
  bool transpose_a = false;  ///< A is given by its transpose
  T alpha = 1;
  const T* d = nullptr;  ///< may be null
  T beta = 0, diagonal = 0;
  bool symmetric = false;  ///< C is known to be symmetric: half is computed, half mirrored
};
constexpr std::int64_t kSmallUnit = 16;

template <class T>
struct Kernels {
  std::int64_t tile_rows, tile_cols;
  void (*pack_rows)(const PanelSource<T>&, T* panel);
  void (*pack_cols)(const PanelSource<T>&, T* panel);
  void (*tile)(std::int64_t depth, const T* rows_panel, const T* cols_panel, const TileTarget<T>&);

  void (*small_product)(const SmallProduct<T>&);
  /// to[j * to_stride + i] <- from[i * from_stride + j] for i < rows, j < cols
  void (*transpose)(const T* from, std::int64_t from_stride, std::int64_t rows, std::int64_t cols, T* to,
                    std::int64_t to_stride);

  // Indexed by DType (f64, f32, bf16, f16) of the caller's tensor; null where T cannot hold it.
  bool (*all_usable[4])(const void* g, std::int64_t n);  ///< finite and not too large
  void (*load[4])(const void* x, T* out, std::int64_t n);
  void (*store[4])(const T* x, void* out, std::int64_t n);
  /// m <- beta m + (1 - beta) g
  void (*momentum[4])(T* m, const void* g, T beta, std::int64_t n);
  /// w <- decay w - left * (right[j] * o[j]); right may be null
  void (*apply[4])(void* w, const T* o, const T* right, T left, T decay, std::int64_t n);

  /// u <- (1 - beta) g + beta m, where g is already in u
  void (*lookahead)(T* u, const T* m, T beta, std::int64_t n);
  void (*add_squares)(const T* x, double* sums, std::int64_t n);
  double (*sum_squares)(const T* x, std::int64_t n);
  double (*sum_squares_scaled)(const T* x, const T* right, std::int64_t n);
  /// AdamW's moments in place; direction <- m^ / (sqrt(v^) + eps), where g is already in `direction`
  void (*adamw)(T* m, T* v, T* direction, const AdamWScalars<T>& scalars, std::int64_t n);
};

struct KernelTable {
  const char* isa;
  Kernels<float> f32;
  Kernels<double> f64;
};

/// Returns the best table for this CPU; the environment variable TRASMUON_ISA (baseline, avx2, avx512) limits it.
const KernelTable& kernel_table();

template <class T>
const Kernels<T>& kernels();
template <>
inline const Kernels<float>& kernels<float>() {
  return kernel_table().f32;
}
template <>
inline const Kernels<double>& kernels<double>() {
  return kernel_table().f64;
}

}  // namespace trasmuon::cpu
