// SPDX-License-Identifier: Apache-2.0
#include "peak.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace trasmuon::bench {
namespace {

constexpr int kSums = 16;  // more than the latency of an instruction in cycles
constexpr long kRounds = 1 << 16;

__attribute__((target("avx512f"))) void f32_multiply_adds() {
  __m512 sum[kSums] = {}, factor = _mm512_set1_ps(1e-9f);
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) __asm__ volatile("" : "+v"(sum[i]));  // sums that the compiler takes for different
  for (long round = 0; round < kRounds; ++round) {
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i) sum[i] = _mm512_fmadd_ps(factor, factor, sum[i]);
    __asm__ volatile("" : "+v"(factor));  // so that nothing is computed in advance
  }
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) __asm__ volatile("" : : "v"(sum[i]));
}

__attribute__((target("avx512f,avx512bf16"))) void bf16_multiply_adds() {
  __m512 sum[kSums] = {};
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) __asm__ volatile("" : "+v"(sum[i]));
  __m512i ones = _mm512_set1_epi32(0x3f803f80);
  for (long round = 0; round < kRounds; ++round) {
    const auto factor = reinterpret_cast<__m512bh>(ones);
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i) sum[i] = _mm512_dpbf16_ps(sum[i], factor, factor);
    __asm__ volatile("" : "+v"(ones));
  }
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) __asm__ volatile("" : : "v"(sum[i]));
}

}  // namespace

double f32_peak_operations() {
  if (!__builtin_cpu_supports("avx512f")) return 0;
  f32_multiply_adds();
  return 32.0 * kSums * kRounds;
}

double bf16_peak_operations() {
  if (!__builtin_cpu_supports("avx512bf16")) return 0;
  bf16_multiply_adds();
  return 64.0 * kSums * kRounds;
}

}  // namespace trasmuon::bench

#else
namespace trasmuon::bench {
double f32_peak_operations() { return 0; }
double bf16_peak_operations() { return 0; }
}  // namespace trasmuon::bench
#endif
