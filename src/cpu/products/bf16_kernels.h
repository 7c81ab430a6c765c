// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The inner loops of products of bf16 matrices with f32 sums, compiled once per instruction set (isa/bf16_table.cpp).
//
// Matrices are cut into blocks of 32 x 32 numbers, filled up with zeros. A block is stored as pairs of numbers that are
// neighbours in a row: (i, k) in pair 16 i + k / 2. This is the order of a left factor. Right factors are packed first,
// as pairs of neighbours in a column: (k, j) in pair 256 (j / 16) + 16 (k / 2) + j % 16. So each half of a packed block
// is the transpose, pair by pair, of the same half of the transposed block.
namespace trasmuon::cpu {

constexpr std::int64_t kBlockSide = 32;
constexpr std::int64_t kBlockPairs = kBlockSide * kBlockSide / 2;

/// The bits of two bf16, the first in the lower half.
using Bf16Pair = std::uint32_t;

/// A part of a row-major f32 matrix, at most 32 x 32.
struct BlockSource {
  const float* data;
  std::int64_t stride;
  std::int64_t rows, cols;
  float factors[2];  ///< multiplied one after the other: one alone might leave the range of f32
};

/// Where a part of a row-major f32 matrix is stored, at most 32 x 32.
struct BlockTarget {
  float* data;
  std::int64_t stride;
  std::int64_t rows, cols;
};

/// `sums` are 32 x 32 numbers by rows, aligned to 64 bytes.
struct Bf16Kernels {
  const char* isa;
  /// What a thread does before its first multiply() and after its last one.
  void (*begin)();
  void (*end)();

  /// Packs a block, or its transpose, as a right factor.
  void (*pack)(const Bf16Pair* block, Bf16Pair* packed);
  void (*pack_transposed)(const Bf16Pair* block, Bf16Pair* packed);
  /// sums <- sum over k < depth of left[k] packed[k]
  void (*multiply)(std::int64_t depth, const Bf16Pair* left, const Bf16Pair* packed, float* sums);

  /// sums <- alpha sums + beta d
  void (*combine)(float* sums, float alpha, float beta, const Bf16Pair* d);
  /// The upper triangle of sums <- the lower one.
  void (*mirror)(float* sums);
  void (*transpose)(float* sums);
  /// Rounds sums to bf16 and stores them as a block, and their transpose; either may be null.
  void (*store)(const float* sums, Bf16Pair* block, Bf16Pair* transposed);
  void (*store_unrounded)(const float* sums, const BlockTarget& to);
  /// sums <- the scaled source, filled up with zeros
  void (*load)(const BlockSource& source, float* sums);
};

/// Returns the best kernels for this CPU; the environment variable TRASMUON_ISA limits the choice.
const Bf16Kernels& bf16_kernels();

/// Lets the thread that holds it call multiply(). They may be nested; only the outermost one costs time.
class Bf16Scope {
 public:
  Bf16Scope();
  ~Bf16Scope();
  Bf16Scope(const Bf16Scope&) = delete;
  Bf16Scope& operator=(const Bf16Scope&) = delete;
};

}  // namespace trasmuon::cpu
