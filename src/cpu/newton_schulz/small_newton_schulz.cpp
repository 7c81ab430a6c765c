// SPDX-License-Identifier: Apache-2.0
#include "cpu/newton_schulz/small_newton_schulz.h"

#include <utility>

#include "cpu/kernels.h"
#include "cpu/newton_schulz/newton_schulz_steps.h"

namespace trasmuon::cpu {
namespace {

constexpr std::int64_t round_up(std::int64_t length) { return (length + kSmallUnit - 1) / kSmallUnit * kSmallUnit; }

/// The iteration on X^T, with its long side as rows: so X X^T and P X both run along the rows of their right factors,
/// and nothing has to be packed. Sides are filled up with zeros, which stay zeros.
template <class T>
class SmallIteration {
 public:
  SmallIteration(std::int64_t rows, std::int64_t cols, NewtonSchulzForm form, Arena& arena)
      : short_(std::min(rows, cols)), long_(std::max(rows, cols)), side_(round_up(short_)), length_(round_up(long_)) {
    // A power of two as stride would put all rows into a few sets of the L1 cache.
    stride_ = side_ < 128 ? side_ : side_ + kSmallUnit;
    for (T** square : {&r_, &p_}) *square = arena.take<T>(side_ * stride_);
    for (T** square : {&q_, &t_}) {
      *square = form == NewtonSchulzForm::gram ? arena.take<T>(side_ * stride_) : nullptr;
    }
    for (T** x : {&x_, &next_x_}) *x = arena.take<T>(length_ * stride_);
  }

  void load(const MatrixView& in, double scale) {
    std::fill_n(x_, length_ * stride_, T(0));
    if (in.rows <= in.cols) {
      kernel_.transpose(in.row<T>(0), in.row_stride, in.rows, in.cols, x_, stride_);
    } else {
      for (std::int64_t i = 0; i < in.rows; ++i) std::copy_n(in.row<T>(i), in.cols, x_ + i * stride_);
    }
    for (std::int64_t i = 0; i < long_ * stride_; ++i) {
      x_[i] = static_cast<T>(static_cast<double>(x_[i]) * scale);  // in double, so that tiny inputs survive
    }
  }
  void store(bool wide, T* out) const {
    if (wide) {
      kernel_.transpose(x_, stride_, long_, short_, out, long_);
    } else {
      for (std::int64_t i = 0; i < long_; ++i) std::copy_n(x_ + i * stride_, short_, out + i * short_);
    }
  }

  void gram() {
    kernel_.small_product({.rows = side_,
                           .cols = side_,
                           .depth = long_,
                           .stride = stride_,
                           .a = x_,
                           .b = x_,
                           .c = r_,
                           .transpose_a = true,
                           .symmetric = true});
  }
  void polynomial(const NewtonSchulzTriple& t) {
    SmallProduct<T> product = symmetric(r_, r_, p_);
    product.alpha = static_cast<T>(t.c);
    product.d = r_;
    product.beta = static_cast<T>(t.b);
    product.diagonal = static_cast<T>(t.a);
    kernel_.small_product(product);
  }
  void advance_r() {
    kernel_.small_product(symmetric(r_, p_, t_));
    kernel_.small_product(symmetric(p_, t_, r_));
  }
  void begin_q() { std::swap(q_, p_); }
  void advance_q() {
    kernel_.small_product(symmetric(q_, p_, t_));
    std::swap(q_, t_);
  }
  void apply_p(bool) { times(p_); }
  void apply_q(bool) { times(q_); }

 private:
  /// C <- A B for symmetric, commuting matrices
  SmallProduct<T> symmetric(const T* a, const T* b, T* c) const {
    return {.rows = side_,
            .cols = side_,
            .depth = short_,
            .stride = stride_,
            .a = a,
            .b = b,
            .c = c,
            .transpose_a = true,
            .symmetric = true};
  }
  /// X^T <- X^T P
  void times(const T* p) {
    kernel_.small_product(
        {.rows = length_, .cols = side_, .depth = short_, .stride = stride_, .a = x_, .b = p, .c = next_x_});
    std::swap(x_, next_x_);
  }

  const Kernels<T>& kernel_ = kernels<T>();
  std::int64_t short_, long_, side_, length_;  // sides of X, and the same filled up
  std::int64_t stride_;
  T *r_, *p_, *q_, *t_, *x_, *next_x_;
};

}  // namespace

template <class T>
std::size_t small_newton_schulz_scratch(std::int64_t rows, std::int64_t cols, NewtonSchulzForm form) {
  return bytes_of([&](Arena& arena) { return SmallIteration<T>(rows, cols, form, arena); });
}

template <class T>
void small_newton_schulz(const MatrixView& in, double scale, std::span<const NewtonSchulzTriple> triples,
                         NewtonSchulzForm form, T* out, Scratch& scratch) {
  auto iteration = scratch.lay_out([&](Arena& arena) { return SmallIteration<T>(in.rows, in.cols, form, arena); });
  iteration.load(in, scale);
  newton_schulz_steps(iteration, triples, form, dtype_of<T>());
  iteration.store(in.rows <= in.cols, out);
}

template std::size_t small_newton_schulz_scratch<float>(std::int64_t, std::int64_t, NewtonSchulzForm);
template std::size_t small_newton_schulz_scratch<double>(std::int64_t, std::int64_t, NewtonSchulzForm);
template void small_newton_schulz<float>(const MatrixView&, double, std::span<const NewtonSchulzTriple>,
                                         NewtonSchulzForm, float*, Scratch&);
template void small_newton_schulz<double>(const MatrixView&, double, std::span<const NewtonSchulzTriple>,
                                          NewtonSchulzForm, double*, Scratch&);

}  // namespace trasmuon::cpu
