// SPDX-License-Identifier: Apache-2.0
#include "cpu/newton_schulz.h"

#include <algorithm>
#include <utility>

#include "cpu/gemm.h"

namespace trasmuon::cpu {
namespace {

// Rounding gives R = X X^T eigenvalues of about -eps where X has none; each step multiplies
// them by up to a^2, and near -1 they diverge. R is computed anew from X before they reach
// a hundredth (docs/decisions/0002-gram-form.md): for the built-in sets after five or six
// steps in f32.
std::size_t segment_length(std::span<const NewtonSchulzTriple> triples, bool double_precision) {
  const double eps = double_precision ? 0x1p-53 : 0x1p-24;
  double noise = eps;
  for (std::size_t step = 1; step < triples.size(); ++step) {
    noise *= triples[step - 1].a * triples[step - 1].a;
    if (noise > 0.015) return step;
  }
  return triples.size();
}

std::size_t segments(std::span<const NewtonSchulzTriple> triples, bool double_precision) {
  std::size_t count = 0;
  for (; !triples.empty(); ++count) triples = triples.subspan(segment_length(triples, double_precision));
  return count;
}

// Below this the products are too small for their number of operations to matter, and the
// standard form rounds less.
constexpr std::int64_t kSmallestGramSide = 64;

/// The iteration on one matrix, seen with its short side as rows: X is s x l.
template <class T>
class Iteration {
 public:
  Iteration(std::int64_t rows, std::int64_t cols, bool gram, bool second, Arena& arena)
      : tall_(rows > cols), rows_(rows), cols_(cols), s_(std::min(rows, cols)), l_(std::max(rows, cols)) {
    const std::int64_t squares = gram ? 4 : 2;
    const std::int64_t scratch = multiply_scratch<T>(std::max(rows, s_), std::max(cols, s_));
    arena.reserve(squares * Arena::bytes_for<T>(s_ * s_) + Arena::bytes_for<T>(scratch) +
                  (second ? Arena::bytes_for<T>(rows * cols) : 0));
    r_ = arena.take<T>(s_ * s_);
    p_ = arena.take<T>(s_ * s_);
    if (gram) {
      q_ = arena.take<T>(s_ * s_);
      t_ = arena.take<T>(s_ * s_);
    }
    scratch_ = arena.take<T>(scratch);
    if (second) second_ = arena.take<T>(rows * cols);
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
    while (!triples.empty()) {
      const std::size_t steps = segment_length(triples, kDouble);
      const auto segment = triples.first(steps);
      triples = triples.subspan(steps);
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
      T* next = segments(triples, kDouble) % 2 == 0 ? out : second_;
      times(q_, x, next);
      x = packed(next);
    }
  }

 private:
  static constexpr bool kDouble = sizeof(T) == sizeof(double);

  Operand<T> packed(const T* data) const { return {data, cols_, 1}; }
  static Operand<T> square(const T* data, std::int64_t s) { return {data, s, 1}; }

  /// R <- X X^T
  void gram_of(const Operand<T>& x) {
    const Operand<T> wide = tall_ ? x.transpose() : x;
    multiply<T>({.m = s_, .n = s_, .k = l_, .a = wide, .b = wide.transpose(), .c = r_, .ldc = s_, .symmetric = true},
                scratch_);
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
                scratch_);
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
                scratch_);
  }

  /// out <- P X, in the storage's orientation
  void times(const T* p, const Operand<T>& x, T* out) {
    const Operand<T> left = tall_ ? x : square(p, s_).transpose();
    const Operand<T> right = tall_ ? square(p, s_) : x;
    multiply<T>({.m = rows_, .n = cols_, .k = s_, .a = left, .b = right, .c = out, .ldc = cols_}, scratch_);
  }

  bool tall_;
  std::int64_t rows_, cols_, s_, l_;
  T* r_ = nullptr;
  T* p_ = nullptr;
  T* q_ = nullptr;
  T* t_ = nullptr;
  T* scratch_ = nullptr;
  T* second_ = nullptr;
};

}  // namespace

double newton_schulz_operations(std::int64_t rows, std::int64_t cols, std::span<const NewtonSchulzTriple> triples,
                                NewtonSchulzForm form, bool double_precision) {
  const double s = static_cast<double>(std::min(rows, cols)), l = static_cast<double>(std::max(rows, cols));
  const double t = static_cast<double>(triples.size());
  if (form == NewtonSchulzForm::standard) return t * (3 * s * s * l + s * s * s);
  const double parts = static_cast<double>(segments(triples, double_precision));
  return parts * (3 * s * s * l - 3 * s * s * s) + t * 4 * s * s * s;
}

NewtonSchulzForm choose_form(std::int64_t rows, std::int64_t cols, std::span<const NewtonSchulzTriple> triples,
                             bool double_precision) {
  if (std::min(rows, cols) < kSmallestGramSide) return NewtonSchulzForm::standard;
  const auto operations = [&](NewtonSchulzForm form) {
    return newton_schulz_operations(rows, cols, triples, form, double_precision);
  };
  return operations(NewtonSchulzForm::gram) < operations(NewtonSchulzForm::standard) ? NewtonSchulzForm::gram
                                                                                     : NewtonSchulzForm::standard;
}

template <class T>
void newton_schulz(const T* in, std::int64_t rows, std::int64_t cols, std::int64_t row_stride, double scale,
                   std::span<const NewtonSchulzTriple> triples, NewtonSchulzForm form, T* out, Arena& arena) {
  constexpr bool double_precision = sizeof(T) == sizeof(double);
  if (triples.empty()) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) {
        out[i * cols + j] = static_cast<T>(static_cast<double>(in[i * row_stride + j]) * scale);
      }
    }
    return;
  }
  if (form == NewtonSchulzForm::automatic) form = choose_form(rows, cols, triples, double_precision);
  const bool gram = form == NewtonSchulzForm::gram;
  const bool second = gram ? segments(triples, double_precision) > 1 : triples.size() > 1;
  Iteration<T> iteration(rows, cols, gram, second, arena);
  const Operand<T> x{in, row_stride, 1, scale};
  if (gram) iteration.gram(x, triples, out);
  else iteration.standard(x, triples, out);
}

template void newton_schulz<float>(const float*, std::int64_t, std::int64_t, std::int64_t, double,
                                   std::span<const NewtonSchulzTriple>, NewtonSchulzForm, float*, Arena&);
template void newton_schulz<double>(const double*, std::int64_t, std::int64_t, std::int64_t, double,
                                    std::span<const NewtonSchulzTriple>, NewtonSchulzForm, double*, Arena&);

}  // namespace trasmuon::cpu
