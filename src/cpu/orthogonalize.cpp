// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cpu/kernels.h"
#include "cpu/newton_schulz.h"
#include "cpu/stages.h"

namespace trasmuon::cpu {

namespace {

template <class T>
void orthogonalize_matrix(const MatrixView& in, double norm, const OrthogonalizeStage& stage, T* out, Arena& arena) {
  const double size = std::sqrt(static_cast<double>(in.elements()));
  const double eps = std::min(stage.eps_absolute, stage.eps_cap * norm);
  const double denominator = norm * (1 + stage.eps_relative / size) + eps;
  // Of a momentum that decayed to subnormals no digits are left, and rounding keeps it
  // from ever reaching zero.
  if (norm <= size * static_cast<double>(std::numeric_limits<T>::min())) {
    std::fill_n(out, in.elements(), T(0));
    return;
  }
  newton_schulz<T>(in.row<T>(0), in.rows, in.cols, in.row_stride, 1 / denominator, stage.triples, stage.form, out,
                   arena);
}

template <class T>
void orthogonalize_copy(const MatrixView& in, const MatrixView& out, const OrthogonalizeStage& stage, Arena& arena) {
  const auto& kernel = kernels<T>();
  std::vector<T> input(static_cast<std::size_t>(in.elements())), output(input.size());
  double squares = 0;
  for (std::int64_t i = 0; i < in.rows; ++i) {
    T* row = input.data() + i * in.cols;
    kernel.load[static_cast<int>(in.dtype)](in.row_bytes(i), row, in.cols);
    squares += kernel.sum_squares(row, in.cols);
  }
  const MatrixView packed{input.data(), dtype_of<T>(), in.rows, in.cols, in.cols};
  orthogonalize_matrix<T>(packed, std::sqrt(squares), stage, output.data(), arena);
  for (std::int64_t i = 0; i < out.rows; ++i) {
    kernel.store[static_cast<int>(out.dtype)](output.data() + i * out.cols, out.row_bytes(i), out.cols);
  }
}

}  // namespace

void CpuStages::orthogonalize(std::span<Matrix> batch, const OrthogonalizeStage& stage) {
  for_each_active(batch, [&]<class T>(Matrix& x) {
    orthogonalize_matrix<T>(x.input, x.input_norm, stage, x.direction.row<T>(0), scratch_);
  });
}

void CpuStages::orthogonalize(const MatrixView& in, const MatrixView& out, const OrthogonalizeStage& stage) {
  if (in.dtype == DType::f64) orthogonalize_copy<double>(in, out, stage, scratch_);
  else orthogonalize_copy<float>(in, out, stage, scratch_);
}

void CpuStages::keep_momentum(std::span<Matrix> batch) {
  for_each_active(batch, [&]<class T>(Matrix& x) {
    for (std::int64_t i = 0; i < x.input.rows; ++i) std::copy_n(x.input.row<T>(i), x.input.cols, x.direction.row<T>(i));
  });
}

}  // namespace trasmuon::cpu
