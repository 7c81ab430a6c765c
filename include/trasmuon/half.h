// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace trasmuon {

/// 16-bit types, stored as bits; arithmetic is done in f32.
struct bf16 {
  std::uint16_t bits;
};
struct f16 {
  std::uint16_t bits;
};

// Conversions have no branches, so that loops over them vectorise. They are `static` because the
// library compiles them once per instruction set, and the linker must not merge the copies.

static inline float float_from_bits(std::uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

static inline std::uint32_t bits_from_float(float value) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float to_float(bf16 x) { return float_from_bits(static_cast<std::uint32_t>(x.bits) << 16); }

static inline float to_float(f16 x) {
  // Shift exponent and mantissa into place, then multiply by 2^112 to correct the exponent's
  // bias; this also normalises subnormals. Inf and NaN keep the largest exponent.
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(x.bits & 0x7fffu) << 13;
  const std::uint32_t finite = bits_from_float(float_from_bits(magnitude) * 0x1p112f);
  const std::uint32_t special = magnitude | 0x7f800000u;
  return float_from_bits(sign | ((x.bits & 0x7c00u) == 0x7c00u ? special : finite));
}

/// Rounds to nearest even; NaN stays NaN.
static inline bf16 to_bf16(float x) {
  const std::uint32_t bits = bits_from_float(x);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40u;
  return {static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded)};
}

/// Rounds to nearest even; values out of range become Inf, NaN stays NaN.
static inline f16 to_f16(float x) {
  const std::uint32_t bits = bits_from_float(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Normal results: change the exponent's bias and round; a carry into the exponent is correct.
  const std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Subnormal results: adding 0.5 aligns the mantissa, and the addition rounds.
  const std::uint32_t subnormal = bits_from_float(float_from_bits(magnitude) + 0.5f) - 0x3f000000u;
  std::uint32_t half = magnitude < 0x38800000u ? subnormal : normal;
  half = magnitude >= 0x477ff000u ? 0x7c00u : half;
  half = magnitude > 0x7f800000u ? 0x7e00u : half;
  return {static_cast<std::uint16_t>(sign | half)};
}

}  // namespace trasmuon
