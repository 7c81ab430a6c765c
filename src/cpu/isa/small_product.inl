// SPDX-License-Identifier: Apache-2.0
// Products of matrices that stay in the caches (kernels.h): nothing is packed, both factors are read where they lie.

template <class T>
constexpr int kSmallTileRows = kTileRows < 12 || kLanes<T> < 8 ? (kLanes<T> < 4 ? kLanes<T> : 4) : 8;

template <class T>
inline Vector<T> load_vector(const T* from) {
  Vector<T> value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

/// sum <- the next `depth` terms of the tile of Rows x Vectors, where the row below in A is `next_row` away and the
/// next term `next_term`.
template <class T, int Rows, int Vectors>
inline __attribute__((always_inline)) void add_small_terms(std::int64_t depth, const T* a, std::int64_t next_row,
                                                           std::int64_t next_term, const T* b, std::int64_t stride,
                                                           Vector<T> (&sum)[Rows][Vectors]) {
  for (std::int64_t k = 0; k < depth; ++k, a += next_term, b += stride) {
    Vector<T> right[Vectors];
    for (int v = 0; v < Vectors; ++v) right[v] = load_vector(b + v * kLanes<T>);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vector<T> value = a[i * next_row] - Vector<T>{};  // a broadcast, as in multiply_tile
      for (int v = 0; v < Vectors; ++v) sum[i][v] += value * right[v];
    }
  }
}

/// The terms [k0, k0 + depth) of the tile of Rows x Vectors at (row, col) of the product.
template <class T, int Rows, int Vectors>
void multiply_small_tile(const SmallProduct<T>& p, std::int64_t k0, std::int64_t depth, std::int64_t row,
                         std::int64_t col) {
  const std::int64_t stride = p.stride;
  Vector<T> sum[Rows][Vectors] = {};
  const T* b = p.b + k0 * stride + col;
  if (p.transpose_a) add_small_terms<T>(depth, p.a + k0 * stride + row, 1, stride, b, stride, sum);
  else add_small_terms<T>(depth, p.a + row * stride + k0, stride, 1, b, stride, sum);

  const auto store = [&](auto&& result) __attribute__((always_inline)) {
    T* c = p.c + row * stride + col;
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i, c += stride) {
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) {
        const Vector<T> value = result(sum[i][v], c + v * kLanes<T>);
        __builtin_memcpy(c + v * kLanes<T>, &value, sizeof value);
      }
    }
  };
  const T alpha = p.alpha, beta = p.beta;
  if (k0 > 0) {
    store([=](const Vector<T>& terms, const T* c) { return load_vector(c) + alpha * terms; });
  } else if (p.d != nullptr) {
    const std::ptrdiff_t from_c = p.d - p.c;
    store([=](const Vector<T>& terms, const T* c) { return alpha * terms + beta * load_vector(c + from_c); });
  } else {
    store([=](const Vector<T>& terms, const T*) { return alpha * terms; });
  }
}

/// The upper triangle of a square <- the lower one.
template <class T>
void mirror_small(T* c, std::int64_t side, std::int64_t stride) {
  constexpr int lanes = kLanes<T>;
  for (std::int64_t row = 0; row < side; row += lanes) {
    for (std::int64_t col = 0; col < row; col += lanes) {
      transpose_block<T, lanes>(c + row * stride + col, stride, c + col * stride + row, stride);
    }
    alignas(64) T transposed[lanes * lanes];
    T* block = c + row * stride + row;
    transpose_block<T, lanes>(block, stride, transposed, lanes);
    for (int i = 0; i < lanes; ++i) {
      for (int j = 0; j < lanes; ++j) block[i * stride + j] = j > i ? transposed[i * lanes + j] : block[i * stride + j];
    }
  }
}

template <class T>
void multiply_small(const SmallProduct<T>& p) {
  constexpr int lanes = kLanes<T>, rows = kSmallTileRows<T>;
  constexpr std::int64_t kDepth = 128;  // of the right factor, two vectors wide, that stays in the L1 cache
  for (std::int64_t k = 0; k < p.depth; k += kDepth) {
    const std::int64_t depth = p.depth - k < kDepth ? p.depth - k : kDepth;
    for (std::int64_t col = 0; col < p.cols; col += 2 * lanes) {
      std::int64_t row = p.symmetric ? col : 0;
      if (col + lanes == p.cols) {  // half a tile is left
        for (; row < p.rows; row += lanes) multiply_small_tile<T, lanes, 1>(p, k, depth, row, col);
        break;
      }
      if (p.symmetric) {  // the right half of the first rows is above the diagonal
        multiply_small_tile<T, lanes, 1>(p, k, depth, row, col);
        row += lanes;
      }
      for (; row < p.rows; row += rows) multiply_small_tile<T, rows, 2>(p, k, depth, row, col);
    }
  }
  for (std::int64_t i = 0; p.diagonal != T(0) && i < p.rows; ++i) p.c[i * p.stride + i] += p.diagonal;
  if (p.symmetric) mirror_small(p.c, p.rows, p.stride);
}

/// to[j * to_stride + i] <- from[i * from_stride + j] for i < rows, j < cols.
template <class T>
void transpose_small(const T* from, std::int64_t from_stride, std::int64_t rows, std::int64_t cols, T* to,
                     std::int64_t to_stride) {
  constexpr int lanes = kLanes<T>;
  std::int64_t i = 0;
  for (; i + lanes <= rows; i += lanes) {
    transpose<T, lanes>(from + i * from_stride, from_stride, to + i, to_stride, cols);
  }
  for (; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) to[j * to_stride + i] = from[i * from_stride + j];
  }
}
