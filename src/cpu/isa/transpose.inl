// SPDX-License-Identifier: Apache-2.0
// Transposition in registers, for packing and for mirrored stores.

template <class T, int D, int... Lane>
inline void exchange(Vector<T>& a, Vector<T>& b, std::integer_sequence<int, Lane...>) {
  constexpr int lanes = kLanes<T>;
  const Vector<T> low = a, high = b;
  a = __builtin_shufflevector(low, high, ((Lane & D) != 0 ? lanes + Lane - D : Lane)...);
  b = __builtin_shufflevector(low, high, ((Lane & D) != 0 ? lanes + Lane : Lane + D)...);
}

// Transposes a square of vectors in registers: log2(lanes) rounds, in each of which pairs
// of vectors at distance D exchange the lanes whose index has, or lacks, the bit D.
template <class T, int D = kLanes<T> / 2>
inline void transpose_vectors(Vector<T>* rows) {
  if constexpr (D > 0) {
#pragma GCC unroll 16
    for (int i = 0; i < kLanes<T>; ++i) {
      if ((i & D) == 0) exchange<T, D>(rows[i], rows[i + D], std::make_integer_sequence<int, kLanes<T>>());
    }
    transpose_vectors<T, D / 2>(rows);
  }
}

// out[j * out_stride + i] <- in[i * in_stride + j] for i < Rows <= lanes, j < lanes.
template <class T, int Rows>
inline void transpose_block(const T* in, std::int64_t in_stride, T* out, std::int64_t out_stride) {
  Vector<T> rows[kLanes<T>] = {};
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) __builtin_memcpy(&rows[i], in + i * in_stride, sizeof rows[i]);
  transpose_vectors<T>(rows);
#pragma GCC unroll 16
  for (int j = 0; j < kLanes<T>; ++j) __builtin_memcpy(out + j * out_stride, &rows[j], Rows * sizeof(T));
}

// out[j * out_stride + i] <- in[i * in_stride + j] for i < Rows, j < count.
template <class T, int Rows>
inline void transpose(const T* in, std::int64_t in_stride, T* out, std::int64_t out_stride, std::int64_t count) {
  constexpr int lanes = kLanes<T>, whole = Rows / lanes * lanes;
  const std::int64_t blocks = count / lanes * lanes;
  for (std::int64_t j = 0; j < blocks; j += lanes) {
    for (int i = 0; i < whole; i += lanes) {
      transpose_block<T, lanes>(in + i * in_stride + j, in_stride, out + j * out_stride + i, out_stride);
    }
    if constexpr (Rows > whole) {
      transpose_block<T, Rows - whole>(in + whole * in_stride + j, in_stride, out + j * out_stride + whole, out_stride);
    }
  }
  for (std::int64_t j = blocks; j < count; ++j) {
    for (int i = 0; i < Rows; ++i) out[j * out_stride + i] = in[i * in_stride + j];
  }
}
