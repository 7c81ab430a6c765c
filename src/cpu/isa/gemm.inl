// SPDX-License-Identifier: Apache-2.0
// Packing and the register tile of the matrix product (gemm.cpp drives them).

template <class T>
constexpr int kTileCols = 2 * kLanes<T>;

// A panel holds, for each step along the summed dimension, Width consecutive values.
template <class T, int Width>
void pack_panel(const PanelSource<T>& source, T* panel) {
  const std::int64_t depth = source.depth;
  if (source.width < Width || (source.across != 1 && source.along != 1)) {
    for (std::int64_t p = 0; p < depth; ++p) {
      for (std::int64_t i = 0; i < Width; ++i) {
        panel[p * Width + i] = i < source.width ? source.data[i * source.across + p * source.along] : T(0);
      }
    }
  } else if (source.across == 1) {
    for (std::int64_t p = 0; p < depth; ++p) {
      __builtin_memcpy(panel + p * Width, source.data + p * source.along, Width * sizeof(T));
    }
  } else {
    transpose<T, Width>(source.data, source.across, panel, Width, depth);
  }
  if (source.scale == 1.0) return;
  for (std::int64_t i = 0; i < depth * Width; ++i)
    panel[i] = static_cast<T>(static_cast<double>(panel[i]) * source.scale);
}

template <class T>
void finish_tile(const T* tile, const TileTarget<T>& to) {
  constexpr int width = kTileCols<T>;
  for (std::int64_t i = 0; i < to.rows; ++i) {
    const std::int64_t row = to.row + i;
    std::int64_t cols = to.cols;
    if (to.symmetric && row + 1 - to.col < cols) cols = row + 1 - to.col;
    T* c = to.c + row * to.ldc + to.col;
    const T* values = tile + i * width;
    if (!to.first) {
      for (std::int64_t j = 0; j < cols; ++j) c[j] += to.alpha * values[j];
      continue;
    }
    if (to.d != nullptr) {
      const T* d = to.d + row * to.ldd + to.col;
      for (std::int64_t j = 0; j < cols; ++j) c[j] = to.alpha * values[j] + to.beta * d[j];
    } else {
      for (std::int64_t j = 0; j < cols; ++j) c[j] = to.alpha * values[j];
    }
    const std::int64_t on_diagonal = row - to.col;
    if (to.diagonal != T(0) && on_diagonal >= 0 && on_diagonal < cols) c[on_diagonal] += to.diagonal;
  }
  if (!to.symmetric || !to.last) return;
  if (to.rows == kTileRows && to.cols == width && to.row >= to.col + width) {  // clear of the diagonal
    transpose<T, kTileRows>(to.c + to.row * to.ldc + to.col, to.ldc, to.c + to.col * to.ldc + to.row, to.ldc, width);
    return;
  }
  for (std::int64_t j = 0; j < to.cols; ++j) {
    const std::int64_t col = to.col + j;
    T* mirrored = to.c + col * to.ldc;
    const std::int64_t top = col + 1 > to.row ? col + 1 : to.row;
    for (std::int64_t row = top; row < to.row + to.rows; ++row) mirrored[row] = to.c[row * to.ldc + col];
  }
}

template <class T>
void multiply_tile(std::int64_t depth, const T* rows_panel, const T* cols_panel, const TileTarget<T>& to) {
  constexpr int lanes = kLanes<T>;
  Vector<T> sum[kTileRows][2];
#pragma GCC unroll 16
  for (int i = 0; i < kTileRows; ++i) sum[i][0] = sum[i][1] = Vector<T>{};
  for (std::int64_t p = 0; p < depth; ++p) {
    Vector<T> left, right;
    __builtin_memcpy(&left, cols_panel, sizeof left);
    __builtin_memcpy(&right, cols_panel + lanes, sizeof right);
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) {
      const Vector<T> value = rows_panel[i] - Vector<T>{};  // a broadcast: x - 0 is x, 0 + x is not for -0
      sum[i][0] += value * left;
      sum[i][1] += value * right;
    }
    rows_panel += kTileRows;
    cols_panel += 2 * lanes;
  }
  alignas(64) T tile[kTileRows * 2 * lanes];
  __builtin_memcpy(tile, sum, sizeof tile);
  finish_tile<T>(tile, to);
}
