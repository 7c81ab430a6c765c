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
      states_(kCopies),
      matrices_(kCopies) {
  weights_.fill(0.02, 1);
  gradients_.fill(0.01, 2);
  const auto weights = weights_.views(), gradients = gradients_.views(), momenta = momenta_.views();
  for (std::size_t i = 0; i < kCopies; ++i) {
    VectorState& state = states_[i];
    state.v_row.assign(static_cast<std::size_t>(rows), 0);
    state.c_ema.assign(static_cast<std::size_t>(cols), 1);
    state.c_last.assign(static_cast<std::size_t>(cols), 1);
    state.c_sum.assign(static_cast<std::size_t>(cols), 0);
    Matrix& x = matrices_[i];
    x.m = rows;
    x.n = cols;
    x.weight = matrix_view(weights[i]);
    x.gradient = matrix_view(gradients[i]);
    x.momentum = matrix_view(momenta[i]);
    x.v_row = state.v_row.data();
    x.c_ema = state.c_ema.data();
    x.c_last = state.c_last.data();
    x.c_sum = state.c_sum.data();
    x.e_ref = &state.e_ref;
    x.gamma_sum = &state.gamma_sum;
    x.step = &state.step;
    x.skipped = &state.skipped;
    step(pipeline_, stages(), std::span(&x, 1));
  }
}

std::span<Matrix> StageMatrices::next() {
  const std::span<Matrix> one(&matrices_[turn_++ % kCopies], 1);
  stages().begin(one, pipeline_);
  return one;
}

}  // namespace trasmuon::bench
