// SPDX-License-Identifier: Apache-2.0
// Blocks of 32 x 32: from f32 to bf16, in the orders of bf16_kernels.h.

constexpr int kSide = static_cast<int>(kBlockSide), kHalf = kSide / 2;

inline float first_of_pair(Bf16Pair pair) { return float_from_bits(pair << 16); }
inline float second_of_pair(Bf16Pair pair) { return float_from_bits(pair & 0xffff0000u); }

/// Transposes the pairs of both halves of a block: packs its transpose as a right factor, or undoes that.
void transpose_pairs(const Bf16Pair* from, Bf16Pair* to) {
  for (int half = 0; half < kSide * kHalf; half += kHalf * kHalf) {
    transpose<Bf16Pair, kHalf>(from + half, kHalf, to + half, kHalf, kHalf);
  }
}

#if defined(__AVX512BF16__)
/// pairs[32 x 16] <- sums, rounded, as a left factor
inline void round_as_left(const float* sums, Bf16Pair* pairs) {
  for (int i = 0; i < kSide; ++i, sums += kSide, pairs += kHalf) {
    const __m512bh row = _mm512_cvtne2ps_pbh(_mm512_load_ps(sums + kHalf), _mm512_load_ps(sums));
    _mm512_storeu_si512(pairs, reinterpret_cast<__m512i>(row));
  }
}

/// pairs[2 x 16 x 16] <- sums, rounded, as a right factor
inline void round_as_right(const float* sums, Bf16Pair* pairs) {
  alignas(64) static constexpr std::uint16_t kInterleave[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                                21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                                11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i interleave = _mm512_load_si512(kInterleave);
  for (int half = 0; half < 2; ++half) {
    for (int k = 0; k < kHalf; ++k, pairs += kHalf) {
      const float* rows = sums + 2 * k * kSide + half * kHalf;
      const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_load_ps(rows + kSide), _mm512_load_ps(rows));
      _mm512_storeu_si512(pairs, _mm512_permutexvar_epi16(interleave, reinterpret_cast<__m512i>(both)));
    }
  }
}
#else
inline Bf16Pair rounded_pair(float first, float second) {
  return to_bf16(first).bits | static_cast<Bf16Pair>(to_bf16(second).bits) << 16;
}

inline void round_as_left(const float* sums, Bf16Pair* pairs) {
  for (int i = 0; i < kSide * kHalf; ++i) pairs[i] = rounded_pair(sums[2 * i], sums[2 * i + 1]);
}

inline void round_as_right(const float* sums, Bf16Pair* pairs) {
  for (int half = 0; half < 2; ++half) {
    for (int k = 0; k < kHalf; ++k, pairs += kHalf) {
      const float* rows = sums + 2 * k * kSide + half * kHalf;
      for (int j = 0; j < kHalf; ++j) pairs[j] = rounded_pair(rows[j], rows[kSide + j]);
    }
  }
}
#endif

void store_block(const float* sums, Bf16Pair* block, Bf16Pair* transposed) {
  if (block != nullptr) round_as_left(sums, block);
  if (transposed != nullptr) {
    alignas(64) Bf16Pair pairs[kSide * kHalf];
    round_as_right(sums, pairs);
    transpose_pairs(pairs, transposed);
  }
}

#if defined(__AVX512BW__)
void pack_block(const Bf16Pair* block, Bf16Pair* packed) {
  // Interleaves the first or the last 16 numbers of two rows; index 32 + j is number j of the second row.
  alignas(64) static constexpr std::uint16_t kFirst[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                           37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                           11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i first = _mm512_load_si512(kFirst), last = _mm512_add_epi16(first, _mm512_set1_epi16(16));
  for (int k = 0; k < kHalf; ++k, block += 2 * kHalf, packed += kHalf) {
    const __m512i row = _mm512_loadu_si512(block), next_row = _mm512_loadu_si512(block + kHalf);
    _mm512_storeu_si512(packed, _mm512_permutex2var_epi16(row, first, next_row));
    _mm512_storeu_si512(packed + kHalf * kHalf, _mm512_permutex2var_epi16(row, last, next_row));
  }
}
#else
void pack_block(const Bf16Pair* block, Bf16Pair* packed) {
  for (int k = 0; k < kHalf; ++k) {
    const Bf16Pair *first = block + 2 * k * kHalf, *second = first + kHalf;
    for (int half = 0; half < 2; ++half) {
      for (int j = 0; j < kHalf; j += 2) {
        const Bf16Pair a = first[(half * kHalf + j) / 2], b = second[(half * kHalf + j) / 2];
        Bf16Pair* to = packed + (half * kHalf + k) * kHalf + j;
        to[0] = (a & 0xffffu) | b << 16;
        to[1] = a >> 16 | (b & 0xffff0000u);
      }
    }
  }
}
#endif

void combine_block(float* sums, float alpha, float beta, const Bf16Pair* d) {
  for (int i = 0; i < kSide; ++i, sums += kSide, d += kHalf) {
    bf16 row[kSide];
    __builtin_memcpy(row, d, sizeof row);
    for (int j = 0; j < kSide; ++j) sums[j] = alpha * sums[j] + beta * to_float(row[j]);
  }
}

void transpose_sums(float* sums) {
  alignas(64) float transposed[kSide * kSide];
  transpose<float, kSide>(sums, kSide, transposed, kSide, kSide);
  __builtin_memcpy(sums, transposed, sizeof transposed);
}

void mirror_block(float* sums) {
  alignas(64) float transposed[kSide * kSide];
  transpose<float, kSide>(sums, kSide, transposed, kSide, kSide);
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) {
      sums[i * kSide + j] = j > i ? transposed[i * kSide + j] : sums[i * kSide + j];
    }
  }
}

void load_block(const BlockSource& source, float* sums) {
  const float first = source.factors[0], second = source.factors[1];
  for (int i = 0; i < kSide; ++i, sums += kSide) {
    const float* row = source.data + i * source.stride;
    const std::int64_t cols = i < source.rows ? source.cols : 0;
    if (cols == kSide) {
      for (int j = 0; j < kSide; ++j) sums[j] = row[j] * first * second;
    } else {
      for (int j = 0; j < kSide; ++j) sums[j] = j < cols ? row[j] * first * second : 0;
    }
  }
}

void store_unrounded(const float* sums, const BlockTarget& to) {
  for (std::int64_t i = 0; i < to.rows; ++i, sums += kSide) {
    float* row = to.data + i * to.stride;
    if (to.cols == kSide) {
      __builtin_memcpy(row, sums, kSide * sizeof(float));
    } else {
      for (std::int64_t j = 0; j < to.cols; ++j) row[j] = sums[j];
    }
  }
}
