// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "cpu/kernels.h"
#include "cpu/newton_schulz/bf16_newton_schulz.h"
#include "cpu/newton_schulz/newton_schulz.h"
#include "cpu/step.h"
#include "stages/formulas.h"

namespace trasmuon::cpu {
namespace {

/// Whether a matrix of compute type T is iterated in bf16.
template <class T>
bool iterates_in_bf16(const OrthogonalizeStage& stage, std::int64_t rows, std::int64_t cols) {
  return dtype_of<T>() == DType::f32 && stage.precision == NewtonSchulzPrecision::bf16 && !stage.triples.empty() &&
         std::min(rows, cols) >= kSmallestBf16Side;
}

template <class T>
void orthogonalize(const MatrixView& in, double squares, const OrthogonalizeStage& stage, const InputNorm& norm, T* out,
                   Scratch& scratch) {
  const double scale = input_scale<T>(norm, std::sqrt(squares), static_cast<double>(in.elements()));  // eq:prenorm_main
  if (scale == 0) std::fill_n(out, in.elements(), T(0));
  else iterate<T>(in, scale, stage, out, scratch);
}

/// Divides all entries by one power of two where that keeps squares inside the range of f64; returns its exponent.
template <class T>
int to_middle_range(T* values, std::int64_t count) {
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(static_cast<double>(values[i])));
  const int exponent = exponent_to_remove(largest);
  for (std::int64_t i = 0; i < count && exponent != 0; ++i) values[i] = std::ldexp(values[i], -exponent);
  return exponent;
}

template <class T>
void orthogonalize_copy(const MatrixView& in, const MatrixView& out, const OrthogonalizeStage& stage,
                        Workspace& workspace) {
  const auto& kernel = kernels<T>();
  struct Copies {
    T *input, *output;
  };
  const auto [input, output] = workspace.step.lay_out([&](Arena& arena) {
    return Copies{arena.take<T>(in.elements()), arena.take<T>(in.elements())};
  });
  for (std::int64_t i = 0; i < in.rows; ++i) {
    kernel.load[static_cast<int>(in.dtype)](in.row_bytes(i), input + i * in.cols, in.cols);
  }
  const int exponent = to_middle_range(input, in.elements());
  double squares = 0;
  for (std::int64_t i = 0; i < in.rows; ++i) squares += kernel.sum_squares(input + i * in.cols, in.cols);
  const MatrixView packed{input, dtype_of<T>(), in.rows, in.cols, in.cols};
  InputNorm norm = stage.norm;
  norm.eps_absolute = std::ldexp(norm.eps_absolute, -exponent);
  orthogonalize<T>(packed, squares, stage, norm, output, workspace.stage);
  for (std::int64_t i = 0; i < out.rows; ++i) {
    kernel.store[static_cast<int>(out.dtype)](output + i * out.cols, out.row_bytes(i), out.cols);
  }
}

}  // namespace

template <class T>
std::size_t iterate_scratch(std::int64_t rows, std::int64_t cols, const OrthogonalizeStage& stage) {
  return iterates_in_bf16<T>(stage, rows, cols) ? bf16_newton_schulz_scratch(rows, cols, stage.triples, stage.form)
                                                : newton_schulz_scratch<T>(rows, cols, stage.triples, stage.form);
}

template <class T>
void iterate(const MatrixView& in, double scale, const OrthogonalizeStage& stage, T* out, Scratch& scratch) {
  if constexpr (std::is_same_v<T, float>) {
    if (iterates_in_bf16<T>(stage, in.rows, in.cols)) {
      bf16_newton_schulz(in, scale, stage.triples, stage.form, out, scratch);  // eq:ns_main
      return;
    }
  }
  newton_schulz<T>(in, scale, stage.triples, stage.form, out, scratch);  // eq:ns_main
}

template <class T>
void orthogonalize(const OrthogonalizeStage& stage, Intermediates<T>& s, Scratch& scratch) {
  orthogonalize<T>(s.input, s.input_squares, stage, stage.norm, s.direction.template row<T>(0), scratch);
}

template <class T>
void copy_input(Intermediates<T>& s) {
  for (std::int64_t i = 0; i < s.input.rows; ++i) {
    std::copy_n(s.input.template row<T>(i), s.input.cols, s.direction.template row<T>(i));
  }
}

void orthogonalize(const MatrixView& in, const MatrixView& out, const OrthogonalizeStage& stage, Workspace& workspace) {
  if (in.dtype == DType::f64) orthogonalize_copy<double>(in, out, stage, workspace);
  else orthogonalize_copy<float>(in, out, stage, workspace);
}

template std::size_t iterate_scratch<float>(std::int64_t, std::int64_t, const OrthogonalizeStage&);
template std::size_t iterate_scratch<double>(std::int64_t, std::int64_t, const OrthogonalizeStage&);
template void iterate<float>(const MatrixView&, double, const OrthogonalizeStage&, float*, Scratch&);
template void iterate<double>(const MatrixView&, double, const OrthogonalizeStage&, double*, Scratch&);
template void orthogonalize<float>(const OrthogonalizeStage&, Intermediates<float>&, Scratch&);
template void orthogonalize<double>(const OrthogonalizeStage&, Intermediates<double>&, Scratch&);
template void copy_input<float>(Intermediates<float>&);
template void copy_input<double>(Intermediates<double>&);

}  // namespace trasmuon::cpu
