// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "cpu/kernels.h"
#include "stages/cut_step.h"

// Rows of a cut matrix, piece by piece: its state must not change before the last phase, and no memory is spent on a
// second copy, so each phase computes again what it needs while it is in the nearest cache.
namespace trasmuon::cpu {

/// Some neighbouring elements of a row.
struct Piece {
  static constexpr std::int64_t kMost = 2048;
  std::int64_t i, j, count;

  /// Its address in rows of `n` elements of `size` bytes that lie one after the other.
  std::size_t offset(std::int64_t n, std::size_t size) const { return static_cast<std::size_t>(i * n + j) * size; }
  void* in(const MatrixView& view) const {
    return static_cast<char*>(view.row_bytes(i)) + j * static_cast<std::int64_t>(size_of(view.dtype));
  }
};

/// Calls body(piece) for all pieces of the rows [first, last).
template <class Body>
void for_each_piece(std::int64_t first, std::int64_t last, std::int64_t n, Body&& body) {
  for (std::int64_t i = first; i < last; ++i) {
    for (std::int64_t j = 0; j < n; j += Piece::kMost) body(Piece{i, j, std::min(Piece::kMost, n - j)});
  }
}

template <class T>
void scale(T* values, std::int64_t count, int exponent) {
  if (exponent == 0) return;
  const T factor = static_cast<T>(std::ldexp(1.0, exponent));
  for (std::int64_t k = 0; k < count; ++k) values[k] *= factor;
}

/// The new momentum, and what is orthogonalized: the momentum itself or Nesterov's look-ahead.
template <class T>
class MomentumPiece {
 public:
  void load(const Matrix& x, const MomentumStage& stage, const Piece& p) {
    const auto& kernel = kernels<T>();
    const auto gradient = static_cast<int>(x.gradient.dtype);
    const T beta = static_cast<T>(stage.beta);
    nesterov_ = stage.nesterov;
    kernel.load[static_cast<int>(x.momentum.dtype)](p.in(x.momentum), momentum_, p.count);
    kernel.momentum[gradient](momentum_, p.in(x.gradient), beta, p.count);  // eq:momentum_main
    if (!nesterov_) return;
    kernel.load[gradient](p.in(x.gradient), lookahead_, p.count);
    kernel.lookahead(lookahead_, momentum_, beta, p.count);
  }
  T* momentum() { return momentum_; }
  T* input() { return nesterov_ ? lookahead_ : momentum_; }

 private:
  T momentum_[Piece::kMost], lookahead_[Piece::kMost];
  bool nesterov_ = false;
};

/// Loads a piece of O: as the owner has sent it, or the input itself in plans that do not orthogonalize.
template <class T>
void load_direction(const CutMatrix& x, const std::byte* returned, const Piece& p, MomentumPiece<T>& momentum,
                    T* direction) {
  if (!x.plan->orthogonalize) {
    momentum.load(*x.rows, x.plan->momentum, p);
    std::copy_n(momentum.input(), p.count, direction);
    return;
  }
  kernels<T>().load[static_cast<int>(x.wire)](returned + x.returned + p.offset(x.n(), size_of(x.wire)), direction,
                                              p.count);
  scale(direction, p.count, -packed_direction_exponent(x.m(), x.n(), x.wire));
}

}  // namespace trasmuon::cpu
