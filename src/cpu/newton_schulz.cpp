// SPDX-License-Identifier: Apache-2.0
#include "cpu/newton_schulz.h"

#include <algorithm>
#include <utility>

#include "cpu/gemm.h"
#include "stages/newton_schulz_form.h"

namespace trasmuon::cpu {
namespace {

/// What an iteration on a matrix of this shape consists of.
struct IterationShape {
  std::int64_t rows, cols;
  bool gram;    ///< the form
  bool second;  ///< there are iterates between the input and the output
};

IterationShape shape_of(std::int64_t rows, std::int64_t cols, std::span<const NewtonSchulzTriple> triples,
                        NewtonSchulzForm form, DType iterates) {
  if (form == NewtonSchulzForm::automatic) form = choose_form(rows, cols, triples, iterates);
  const bool gram = form == NewtonSchulzForm::gram;
  return {rows, cols, gram, gram ? gram_segments(triples, 0, iterates) > 1 : triples.size() > 1};
}

/// The iteration on one matrix, seen with its short side as rows: X is s x l.
template <class T>
class Iteration {
 public:
  Iteration(const IterationShape& shape, Arena& arena)
      : tall_(shape.rows > shape.cols),
        rows_(shape.rows),
        cols_(shape.cols),
        s_(std::min(rows_, cols_)),
        l_(std::max(rows_, cols_)) {
    for (T** square : {&r_, &p_}) *square = arena.take<T>(s_ * s_);
    for (T** square : {&q_, &t_}) *square = shape.gram ? arena.take<T>(s_ * s_) : nullptr;
    product_ = arena.take<T>(std::max(multiply_scratch<T>(s_, s_, l_), multiply_scratch<T>(rows_, cols_, s_)));
    second_ = shape.second ? arena.take<T>(rows_ * cols_) : nullptr;
  }

  void standard(Operand<T> x, std::span<const NewtonSchulzTriple> triples, T* out) {
    for (std::size_t step = 0; step < triples.size(); ++step) {
      T* next = (triples.size() - step) % 2 == 1 ? out : second_;
      gram_of(x);
      polynomial(triples[step]);
      times(p_, x, next);
      x = packed(next);
    }
  }

  // Within a segment Q = P_1 ... P_k and R = X X^T are polynomials in the first R: all
  // symmetric, all commuting. At its end X <- Q X.
  void gram(Operand<T> x, std::span<const NewtonSchulzTriple> triples, T* out) {
    for (std::size_t done = 0; done < triples.size();) {
      const std::size_t steps = segment_length(triples, done, dtype_of<T>());
      const auto segment = triples.subspan(done, steps);
      done += steps;
      gram_of(x);
      for (std::size_t step = 0; step < steps; ++step) {
        polynomial(segment[step]);
        if (step + 1 < steps) {
          symmetric_product(r_, p_, t_);
          symmetric_product(p_, t_, r_);
        }
        if (step == 0) {
          std::swap(q_, p_);
        } else {
          symmetric_product(q_, p_, t_);
          std::swap(q_, t_);
        }
      }
      T* next = gram_segments(triples, done, dtype_of<T>()) % 2 == 0 ? out : second_;
      times(q_, x, next);
      x = packed(next);
    }
  }

 private:
  Operand<T> packed(const T* data) const { return {data, cols_, 1}; }
  static Operand<T> square(const T* data, std::int64_t s) { return {data, s, 1}; }

  /// R <- X X^T
  void gram_of(const Operand<T>& x) {
    const Operand<T> wide = tall_ ? x.transpose() : x;
    multiply<T>({.m = s_, .n = s_, .k = l_, .a = wide, .b = wide.transpose(), .c = r_, .ldc = s_, .symmetric = true},
                product_);
  }

  /// P <- a I + b R + c R^2
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

  /// out <- P X, in the storage's orientation
  void times(const T* p, const Operand<T>& x, T* out) {
    const Operand<T> left = tall_ ? x : square(p, s_).transpose();
    const Operand<T> right = tall_ ? square(p, s_) : x;
    multiply<T>({.m = rows_, .n = cols_, .k = s_, .a = left, .b = right, .c = out, .ldc = cols_}, product_);
  }

  bool tall_;
  std::int64_t rows_, cols_, s_, l_;
  T* r_ = nullptr;
  T* p_ = nullptr;
  T* q_ = nullptr;
  T* t_ = nullptr;
  T* product_ = nullptr;  // scratch of multiply()
  T* second_ = nullptr;
};

}  // namespace

template <class T>
std::size_t newton_schulz_scratch(std::int64_t rows, std::int64_t cols, std::span<const NewtonSchulzTriple> triples,
                                  NewtonSchulzForm form) {
  if (triples.empty()) return 0;
  const IterationShape shape = shape_of(rows, cols, triples, form, dtype_of<T>());
  return bytes_of([&](Arena& arena) { return Iteration<T>(shape, arena); });
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
  const IterationShape shape = shape_of(in.rows, in.cols, triples, form, dtype_of<T>());
  auto iteration = scratch.lay_out([&](Arena& arena) { return Iteration<T>(shape, arena); });
  const Operand<T> x{in.row<T>(0), in.row_stride, 1, scale};
  if (shape.gram) iteration.gram(x, triples, out);
  else iteration.standard(x, triples, out);
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
