// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "cpu/row_chunks.h"
#include "cpu/step.h"
#include "stages/formulas.h"

namespace trasmuon::cpu {
namespace {

constexpr std::int64_t kPiece = 4096;  // of a row: the direction stays in the nearest cache

std::int64_t pieces_per_row(const Matrix& x) { return (x.weight.cols + kPiece - 1) / kPiece; }

/// One per piece, for the diagnostics.
double* update_squares_of(const Matrix& x, Arena& arena) {
  return arena.take<double>(x.diagnostics != nullptr ? x.weight.rows * pieces_per_row(x) : 0);
}

}  // namespace

std::size_t adamw_scratch(const Matrix& x) {
  return bytes_of([&](Arena& arena) { return update_squares_of(x, arena); });
}

template <class T>
void adamw(const Matrix& x, const AdamWOptions& options, Scratch& scratch) {
  if (!admit<T>(x, true)) return;
  const AdamWScalars<T> scalars = adamw_scalars<T>(options, *x.step);
  const T decay = static_cast<T>(decay_of(options.lr, options.weight_decay)), lr = static_cast<T>(options.lr);
  const auto& kernel = kernels<T>();
  const std::int64_t pieces = pieces_per_row(x);
  double* update_squares = scratch.lay_out([&](Arena& arena) { return update_squares_of(x, arena); });
  const RowChunks chunks(x.weight.rows * pieces, std::min(kPiece, x.weight.cols));
  for_each_chunk(chunks, [&](std::int64_t first, std::int64_t last, std::int64_t) {
    T direction[kPiece];
    for (std::int64_t piece = first; piece < last; ++piece) {
      const std::int64_t i = piece / pieces, j = piece % pieces * kPiece;
      const std::int64_t n = std::min(kPiece, x.weight.cols - j);
      const auto at = [&](const MatrixView& view) {
        return static_cast<char*>(view.row_bytes(i)) + j * static_cast<std::int64_t>(size_of(view.dtype));
      };
      kernel.load[static_cast<int>(x.gradient.dtype)](at(x.gradient), direction, n);
      kernel.adamw(x.momentum.row<T>(i) + j, x.second_moment.row<T>(i) + j, direction, scalars, n);
      kernel.apply[static_cast<int>(x.weight.dtype)](at(x.weight), direction, nullptr, lr, decay, n);
      if (x.rounded.data != nullptr) {
        kernel.store[static_cast<int>(x.rounded.dtype)](x.weight.row<T>(i) + j, at(x.rounded), n);
      }
      if (x.diagnostics != nullptr) update_squares[piece] = kernel.sum_squares(direction, n);
    }
  });
  if (x.diagnostics == nullptr) return;
  double sum = 0;
  for (std::int64_t piece = 0; piece < x.weight.rows * pieces; ++piece) sum += update_squares[piece];
  x.diagnostics->updated = true;
  x.diagnostics->step = *x.step;
  x.diagnostics->eta_hat = options.lr;
  x.diagnostics->update_rms = options.lr * std::sqrt(sum / static_cast<double>(x.weight.elements()));
}

template void adamw<float>(const Matrix&, const AdamWOptions&, Scratch&);
template void adamw<double>(const Matrix&, const AdamWOptions&, Scratch&);

}  // namespace trasmuon::cpu
