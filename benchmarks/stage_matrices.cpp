// SPDX-License-Identifier: Apache-2.0
#include "stage_matrices.h"

namespace trasmuon::bench {
namespace {

MatrixView matrix_view(const TensorView& view) {
  return {view.data, view.dtype, view.shape[0], view.shape[1], view.shape[1]};
}

}  // namespace

StageMatrices::StageMatrices(std::int64_t rows, std::int64_t cols)
    : rows_(rows),
      cols_(cols),
      weights_(std::vector<NamedMatrix>(kCopies, {"", rows, cols})),
      gradients_(std::vector<NamedMatrix>(kCopies, {"", rows, cols})),
      momenta_(std::vector<NamedMatrix>(kCopies, {"", rows, cols})),
      matrices_(kCopies) {
  weights_.fill(0.02, 1);
  gradients_.fill(0.01, 2);
  const auto weights = weights_.views(), gradients = gradients_.views(), momenta = momenta_.views();
  for (std::size_t i = 0; i < kCopies; ++i) {
    SteppedMatrix& x = matrices_[i];
    x.v_row.assign(static_cast<std::size_t>(rows), 0);
    x.c_ema.assign(static_cast<std::size_t>(cols), 1);
    x.c_last.assign(static_cast<std::size_t>(cols), 1);
    x.c_sum.assign(static_cast<std::size_t>(cols), 0);
    x.matrix = {.m = rows,
                .n = cols,
                .whole_m = rows,
                .weight = matrix_view(weights[i]),
                .gradient = matrix_view(gradients[i]),
                .momentum = matrix_view(momenta[i]),
                .v_row = x.v_row.data(),
                .c_ema = x.c_ema.data(),
                .c_last = x.c_last.data(),
                .c_sum = x.c_sum.data(),
                .e_ref = &x.e_ref,
                .gamma_sum = &x.gamma_sum,
                .step = &x.step,
                .skipped = &x.skipped};
    x.intermediates = cpu::intermediates<float>(x.matrix, plan_, x.memory);
    cpu::admit<float>(x.matrix, plan_.skip_nonfinite);
    for (const Phase phase : kPhases) cpu::run_phase(phase, plan_, x.matrix, x.intermediates, scratch_);
  }
}

}  // namespace trasmuon::bench
