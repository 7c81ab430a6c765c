// SPDX-License-Identifier: Apache-2.0
// sums <- sum over k < depth of left[k] right[k], with the best instructions of the set this file is compiled for.

#if defined(__AMX_BF16__)

// Eight tiles of 16 rows of 64 bytes: 2 x 2 of sums, two of the left factor, two of the right one.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

void begin_multiply() {
  static constexpr TileConfiguration kConfiguration;
  _tile_loadconfig(&kConfiguration);
}
void end_multiply() { _tile_release(); }

void multiply_blocks(std::int64_t depth, const Bf16Pair* left, const Bf16Pair* right, float* sums) {
  constexpr int tile = kHalf * kHalf, stride = 64, sums_stride = kSide * static_cast<int>(sizeof(float));
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t k = 0; k < depth; ++k, left += kBlockPairs, right += kBlockPairs) {
    _tile_loadd(4, left, stride);
    _tile_loadd(6, right, stride);
    _tile_loadd(7, right + tile, stride);
    _tile_loadd(5, left + tile, stride);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, sums_stride);
  _tile_stored(1, sums + kHalf, sums_stride);
  _tile_stored(2, sums + kHalf * kSide, sums_stride);
  _tile_stored(3, sums + kHalf * kSide + kHalf, sums_stride);
}

#elif defined(__AVX512BF16__)

void begin_multiply() {}
void end_multiply() {}

void multiply_blocks(std::int64_t depth, const Bf16Pair* left, const Bf16Pair* right, float* sums) {
  constexpr int rows = 8;
  for (int row = 0; row < kSide; row += rows) {
    __m512 sum[rows][2];
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) sum[i][0] = sum[i][1] = _mm512_setzero_ps();
    for (std::int64_t k = 0; k < depth; ++k) {
      const Bf16Pair* left_row = left + k * kBlockPairs + row * kHalf;
      const Bf16Pair* right_row = right + k * kBlockPairs;
      for (int pair = 0; pair < kHalf; ++pair, ++left_row, right_row += kHalf) {
        const auto columns = reinterpret_cast<__m512bh>(_mm512_loadu_si512(right_row));
        const auto more_columns = reinterpret_cast<__m512bh>(_mm512_loadu_si512(right_row + kHalf * kHalf));
#pragma GCC unroll 8
        for (int i = 0; i < rows; ++i) {
          const auto pairs = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(left_row[i * kHalf])));
          sum[i][0] = _mm512_dpbf16_ps(sum[i][0], pairs, columns);
          sum[i][1] = _mm512_dpbf16_ps(sum[i][1], pairs, more_columns);
        }
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i, sums += kSide) {
      _mm512_store_ps(sums, sum[i][0]);
      _mm512_store_ps(sums + kHalf, sum[i][1]);
    }
  }
}

#else

// Without instructions for bf16: products of bf16 are exact in f32, so its multiply-add gives the same sums up to the
// rounding of additions.
void begin_multiply() {}
void end_multiply() {}

void multiply_blocks(std::int64_t depth, const Bf16Pair* left, const Bf16Pair* right, float* sums) {
  constexpr int lanes = kLanes<float>, rows = kTileRows == 12 ? 8 : 4;
  alignas(64) float a[kSide * kSide], b[kSide * kSide];
  __builtin_memset(sums, 0, kSide * kSide * sizeof(float));
  for (std::int64_t k = 0; k < depth; ++k, left += kBlockPairs, right += kBlockPairs) {
    for (int i = 0; i < kSide; ++i) {
      bf16 row[kSide];
      __builtin_memcpy(row, left + i * kHalf, sizeof row);
      for (int p = 0; p < kSide; ++p) a[i * kSide + p] = to_float(row[p]);
    }
    for (int half = 0; half < 2; ++half) {
      for (int pair = 0; pair < kHalf; ++pair) {
        const Bf16Pair* from = right + (half * kHalf + pair) * kHalf;
        float* to = b + 2 * pair * kSide + half * kHalf;
        for (int j = 0; j < kHalf; ++j) {
          to[j] = first_of_pair(from[j]);
          to[kSide + j] = second_of_pair(from[j]);
        }
      }
    }
    for (int row = 0; row < kSide; row += rows) {
      for (int col = 0; col < kSide; col += 2 * lanes) {
        Vector<float> sum[rows][2];
#pragma GCC unroll 8
        for (int i = 0; i < rows; ++i) {
          const float* from = sums + (row + i) * kSide + col;
          __builtin_memcpy(&sum[i][0], from, sizeof sum[i][0]);
          __builtin_memcpy(&sum[i][1], from + lanes, sizeof sum[i][1]);
        }
        for (int p = 0; p < kSide; ++p) {
          Vector<float> first, second;
          __builtin_memcpy(&first, b + p * kSide + col, sizeof first);
          __builtin_memcpy(&second, b + p * kSide + col + lanes, sizeof second);
#pragma GCC unroll 8
          for (int i = 0; i < rows; ++i) {
            const Vector<float> value = a[(row + i) * kSide + p] - Vector<float>{};
            sum[i][0] += value * first;
            sum[i][1] += value * second;
          }
        }
#pragma GCC unroll 8
        for (int i = 0; i < rows; ++i) {
          float* to = sums + (row + i) * kSide + col;
          __builtin_memcpy(to, &sum[i][0], sizeof sum[i][0]);
          __builtin_memcpy(to + lanes, &sum[i][1], sizeof sum[i][1]);
        }
      }
    }
  }
}

#endif
