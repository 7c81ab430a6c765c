// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu/kernels.h"
#include "cpu/stages.h"

namespace trasmuon::cpu {

void CpuStages::adamw(std::span<Matrix> batch, const AdamWOptions& options) {
  admit(batch, true);
  for_each_active(batch, [&]<class T>(Matrix& x) {
    const double t = static_cast<double>(++*x.step);
    const double correction1 = 1 - std::pow(options.beta1, t), correction2 = 1 - std::pow(options.beta2, t);
    const T decay = static_cast<T>(1 - options.lr * options.weight_decay), lr = static_cast<T>(options.lr);
    const auto& kernel = kernels<T>();
    constexpr std::int64_t kPiece = 4096;  // of a row: the direction stays in the nearest cache
    const std::int64_t pieces = (x.weight.cols + kPiece - 1) / kPiece;
    std::vector<double> update_squares(x.diagnostics != nullptr ? static_cast<std::size_t>(x.weight.rows * pieces) : 0);
    const RowChunks chunks(x.weight.rows * pieces, std::min(kPiece, x.weight.cols));
    for_each_chunk(chunks, [&](std::int64_t first, std::int64_t last, std::int64_t) {
      T direction[kPiece];
      for (std::int64_t piece = first; piece < last; ++piece) {
        const std::int64_t i = piece / pieces, j = piece % pieces * kPiece;
        const std::int64_t n = std::min(kPiece, x.weight.cols - j);
        auto at = [&](const MatrixView& view) {
          return static_cast<char*>(view.row_bytes(i)) + j * static_cast<std::int64_t>(size_of(view.dtype));
        };
        kernel.load[static_cast<int>(x.gradient.dtype)](at(x.gradient), direction, n);
        kernel.adamw(x.momentum.row<T>(i) + j, x.second_moment.row<T>(i) + j, direction, options.beta1, options.beta2,
                     correction1, correction2, options.eps, n);
        kernel.apply[static_cast<int>(x.weight.dtype)](at(x.weight), direction, nullptr, lr, decay, n);
        if (x.rounded.data != nullptr) {
          kernel.store[static_cast<int>(x.rounded.dtype)](x.weight.row<T>(i) + j, at(x.rounded), n);
        }
        if (x.diagnostics != nullptr) {
          update_squares[static_cast<std::size_t>(piece)] = kernel.sum_squares(direction, n);
        }
      }
    });
    if (x.diagnostics == nullptr) return;
    double sum = 0;
    for (double part : update_squares) sum += part;
    x.diagnostics->updated = true;
    x.diagnostics->step = *x.step;
    x.diagnostics->eta_hat = options.lr;
    x.diagnostics->update_rms = options.lr * std::sqrt(sum / static_cast<double>(x.weight.elements()));
  });
}

}  // namespace trasmuon::cpu
