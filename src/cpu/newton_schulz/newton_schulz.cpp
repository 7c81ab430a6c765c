// SPDX-License-Identifier: Apache-2.0
#include "cpu/newton_schulz/newton_schulz.h"

#include <algorithm>
#include <utility>

#include "cpu/newton_schulz/newton_schulz_steps.h"
#include "cpu/newton_schulz/small_newton_schulz.h"
#include "cpu/products/gemm.h"

namespace trasmuon::cpu {
namespace {

/// How often X is multiplied by P or Q.
std::size_t applications(std::span<const NewtonSchulzTriple> triples, NewtonSchulzForm form, DType iterates) {
  return form == NewtonSchulzForm::gram ? gram_segments(triples, 0, iterates) : triples.size();
}

NewtonSchulzForm chosen(std::int64_t rows, std::int64_t cols, std::span<const NewtonSchulzTriple> triples,
                        NewtonSchulzForm form, DType iterates) {
  return form == NewtonSchulzForm::automatic ? choose_form(rows, cols, triples, iterates) : form;
}

/// The iteration on one matrix, seen with its short side as rows: X is s x l. X is multiplied `applications` times.
template <class T>
class Iteration {
 public:
  Iteration(std::int64_t rows, std::int64_t cols, NewtonSchulzForm form, std::size_t applications, Arena& arena)
      : tall_(rows > cols),
        rows_(rows),
        cols_(cols),
        s_(std::min(rows_, cols_)),
        l_(std::max(rows_, cols_)),
        applications_(applications) {
    for (T** square : {&r_, &p_}) *square = arena.take<T>(s_ * s_);
    for (T** square : {&q_, &t_}) *square = form == NewtonSchulzForm::gram ? arena.take<T>(s_ * s_) : nullptr;
    product_ = arena.take<T>(std::max(multiply_scratch<T>(s_, s_, l_), multiply_scratch<T>(rows_, cols_, s_)));
    second_ = applications > 1 ? arena.take<T>(rows_ * cols_) : nullptr;
  }

  void begin(const Operand<T>& x, T* out) {
    x_ = x;
    out_ = out;
  }

  void gram() {
    const Operand<T> wide = tall_ ? x_.transpose() : x_;
    multiply<T>({.m = s_, .n = s_, .k = l_, .a = wide, .b = wide.transpose(), .c = r_, .ldc = s_, .symmetric = true},
                product_);
  }

  void polynomial(const NewtonSchulzTriple& t) {
    multiply<T>({.m = s_,
                 .n = s_,
                 .k = s_,
                 .a = square(r_, s_).transpose(),
                 .b = square(r_, s_),
                 .c = p_,
                 .ldc = s_,
                 .alpha = static_cast<T>(t.c),
                 .d = r_,
                 .ldd = s_,
                 .beta = static_cast<T>(t.b),
                 .diagonal = static_cast<T>(t.a),
                 .symmetric = true},
                product_);
  }

  void advance_r() {
    symmetric_product(r_, p_, t_);
    symmetric_product(p_, t_, r_);
  }
  void begin_q() { std::swap(q_, p_); }
  void advance_q() {
    symmetric_product(q_, p_, t_);
    std::swap(q_, t_);
  }
  void apply_p(bool) { times(p_); }
  void apply_q(bool) { times(q_); }

 private:
  static Operand<T> square(const T* data, std::int64_t s) { return {data, s, 1}; }

  void symmetric_product(const T* a, const T* b, T* c) {
    multiply<T>({.m = s_,
                 .n = s_,
                 .k = s_,
                 .a = square(a, s_).transpose(),
                 .b = square(b, s_),
                 .c = c,
                 .ldc = s_,
                 .symmetric = true},
                product_);
  }

  /// X <- P X, in the storage's orientation. The results alternate between two places so that the last is in `out`.
  void times(const T* p) {
    T* next = applications_-- % 2 == 1 ? out_ : second_;
    const Operand<T> left = tall_ ? x_ : square(p, s_).transpose();
    const Operand<T> right = tall_ ? square(p, s_) : x_;
    multiply<T>({.m = rows_, .n = cols_, .k = s_, .a = left, .b = right, .c = next, .ldc = cols_}, product_);
    x_ = {next, cols_, 1};
  }

  bool tall_;
  std::int64_t rows_, cols_, s_, l_;
  std::size_t applications_;  // left to do
  T *r_, *p_, *q_, *t_;
  T* product_;  // scratch of multiply()
  T* second_;
  T* out_ = nullptr;
  Operand<T> x_ = {};
};

}  // namespace

template <class T>
std::size_t newton_schulz_scratch(std::int64_t rows, std::int64_t cols, std::span<const NewtonSchulzTriple> triples,
                                  NewtonSchulzForm form) {
  if (triples.empty()) return 0;
  form = chosen(rows, cols, triples, form, dtype_of<T>());
  if (is_small(rows, cols)) return small_newton_schulz_scratch<T>(rows, cols, form);
  const std::size_t times = applications(triples, form, dtype_of<T>());
  return bytes_of([&](Arena& arena) { return Iteration<T>(rows, cols, form, times, arena); });
}

template <class T>
void newton_schulz(const MatrixView& in, double scale, std::span<const NewtonSchulzTriple> triples,
                   NewtonSchulzForm form, T* out, Scratch& scratch) {
  if (triples.empty()) {
    for (std::int64_t i = 0; i < in.rows; ++i) {
      for (std::int64_t j = 0; j < in.cols; ++j) {
        out[i * in.cols + j] = static_cast<T>(static_cast<double>(in.row<T>(i)[j]) * scale);
      }
    }
    return;
  }
  form = chosen(in.rows, in.cols, triples, form, dtype_of<T>());
  if (is_small(in.rows, in.cols)) {
    small_newton_schulz<T>(in, scale, triples, form, out, scratch);
    return;
  }
  const std::size_t times = applications(triples, form, dtype_of<T>());
  auto iteration = scratch.lay_out([&](Arena& arena) { return Iteration<T>(in.rows, in.cols, form, times, arena); });
  iteration.begin({in.row<T>(0), in.row_stride, 1, scale}, out);
  newton_schulz_steps(iteration, triples, form, dtype_of<T>());
}

template std::size_t newton_schulz_scratch<float>(std::int64_t, std::int64_t, std::span<const NewtonSchulzTriple>,
                                                  NewtonSchulzForm);
template std::size_t newton_schulz_scratch<double>(std::int64_t, std::int64_t, std::span<const NewtonSchulzTriple>,
                                                   NewtonSchulzForm);
template void newton_schulz<float>(const MatrixView&, double, std::span<const NewtonSchulzTriple>, NewtonSchulzForm,
                                   float*, Scratch&);
template void newton_schulz<double>(const MatrixView&, double, std::span<const NewtonSchulzTriple>, NewtonSchulzForm,
                                    double*, Scratch&);

}  // namespace trasmuon::cpu
