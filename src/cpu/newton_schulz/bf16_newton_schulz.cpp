// SPDX-License-Identifier: Apache-2.0
#include "cpu/newton_schulz/bf16_newton_schulz.h"

#include <algorithm>
#include <utility>

#include "cpu/newton_schulz/newton_schulz_steps.h"
#include "cpu/products/bf16_product.h"

namespace trasmuon::cpu {
namespace {

/// The iteration on one matrix X, seen with its short side as rows. R, P, Q and T are polynomials in R = X X^T, hence
/// symmetric.
class Iteration {
 public:
  Iteration(std::int64_t rows, std::int64_t cols, NewtonSchulzForm form, Arena& arena)
      : tall_(rows > cols),
        side_(std::min(rows, cols)),
        short_(block_count(side_)),
        long_(block_count(std::max(rows, cols))) {
    for (BlockMatrix* square : {&r_, &p_}) *square = BlockMatrix(short_, short_, arena);
    if (form == NewtonSchulzForm::gram) {
      for (BlockMatrix* square : {&q_, &t_}) *square = BlockMatrix(short_, short_, arena);
    }
    for (BlockMatrix* x : {&x_, &next_x_}) *x = BlockMatrix(short_, long_, arena);
    product_ = arena.take<Bf16Pair>(
        std::max({multiply_scratch(short_, long_), multiply_scratch(short_, short_), multiply_scratch(long_, short_)}));
  }

  void run(const MatrixView& in, double scale, std::span<const NewtonSchulzTriple> triples, NewtonSchulzForm form,
           float* out) {
    const Bf16Scope scope;
    result_ = {out, DType::f32, in.rows, in.cols, in.cols};
    load_blocks(in, scale, tall_, x_);
    newton_schulz_steps(*this, triples, form, DType::bf16);
  }

  void gram() { symmetric_product(x_, x_, r_); }
  void polynomial(const NewtonSchulzTriple& t) {
    multiply({.a = r_,
              .b = r_,
              .transpose_b = true,
              .out = p_,
              .alpha = static_cast<float>(t.c),
              .beta = static_cast<float>(t.b),
              .diagonal = static_cast<float>(t.a),
              .d = r_,
              .side = side_,
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
  void apply_p(bool last) { apply(p_, last); }
  void apply_q(bool last) { apply(q_, last); }

 private:
  /// out <- A B^T, known to be symmetric
  void symmetric_product(const BlockMatrix& a, const BlockMatrix& b, const BlockMatrix& out) const {
    multiply({.a = a, .b = b, .transpose_b = true, .out = out, .symmetric = true}, product_);
  }

  /// X <- P X; the last one is not rounded to bf16.
  void apply(const BlockMatrix& p, bool last) {
    BlockProduct next{.a = p, .b = x_, .out = next_x_};
    if (last) {
      next.unrounded = result_;
      next.transpose_unrounded = tall_;
    }
    multiply(next, product_);
    std::swap(x_, next_x_);
  }

  bool tall_;
  std::int64_t side_;
  std::int64_t short_, long_;  // sides in blocks
  BlockMatrix r_, p_, q_, t_, x_, next_x_;
  Bf16Pair* product_ = nullptr;  // scratch of multiply()
  MatrixView result_;
};

NewtonSchulzForm chosen(std::int64_t rows, std::int64_t cols, std::span<const NewtonSchulzTriple> triples,
                        NewtonSchulzForm form) {
  return form == NewtonSchulzForm::automatic ? choose_form(rows, cols, triples, DType::bf16) : form;
}

}  // namespace

std::size_t bf16_newton_schulz_scratch(std::int64_t rows, std::int64_t cols,
                                       std::span<const NewtonSchulzTriple> triples, NewtonSchulzForm form) {
  form = chosen(rows, cols, triples, form);
  return bytes_of([&](Arena& arena) { return Iteration(rows, cols, form, arena); });
}

void bf16_newton_schulz(const MatrixView& in, double scale, std::span<const NewtonSchulzTriple> triples,
                        NewtonSchulzForm form, float* out, Scratch& scratch) {
  form = chosen(in.rows, in.cols, triples, form);
  auto iteration = scratch.lay_out([&](Arena& arena) { return Iteration(in.rows, in.cols, form, arena); });
  iteration.run(in, scale, triples, form, out);
}

}  // namespace trasmuon::cpu
