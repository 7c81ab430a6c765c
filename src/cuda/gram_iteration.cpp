// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <utility>

#include "cuda/kernels.h"
#include "cuda/orthogonalize.h"
#include "cuda/products.h"

namespace trasmuon::cuda {
namespace {

/// Whether R is taken anew from X after this many steps. In 16 bits R's small eigenvalues drown
/// after three steps and may turn negative, which the polynomial then amplifies.
bool restarts_after(std::size_t steps, std::size_t total) { return steps < total && steps % 3 == 2; }

/// One bucket's matrices: X twice, and five of the short side.
struct Workspace {
  Bucket bucket;
  std::array<HalfMatrices, 2> x;
  HalfMatrices r, s, w, q, spare;

  Workspace(const Bucket& b, Carver& scratch) : bucket(b) {
    const auto like = [&](int rows, int cols, int stride, void* data) {
      return HalfMatrices{data, rows, cols, stride, b.batch, static_cast<std::int64_t>(rows) * stride};
    };
    const auto take = [&](int rows, int cols, int stride) {
      return like(rows, cols, stride, scratch.take<std::uint16_t>(std::size_t(rows) * stride * b.batch));
    };
    const int n = b.short_side(), stride = (n + 7) / 8 * 8;
    x = {like(b.rows, b.cols, b.row_stride, b.x), take(b.rows, b.cols, b.row_stride)};
    for (HalfMatrices* square : {&r, &s, &w, &q, &spare}) *square = take(n, n, stride);
    r.diagonal_blocks = scratch.take<std::uint16_t>(static_cast<std::size_t>(diagonal_block_elements(n, b.batch)));
  }
};

/// The Gram form: with R = X X^T on the short side, Z = aI + bR + cR^2, Q <- Q Z, R <- Z R Z; X <- Q X
/// at the end and wherever R is taken anew. All of it commutes, so all but X is symmetric.
class GramIteration final : public Orthogonalizer {
 public:
  GramIteration(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage, DType dtype, int multiprocessors,
                Carver& scratch)
      : triples_(stage.triples), bfloat16_(dtype == DType::bf16), multiprocessors_(multiprocessors) {
    for (const Bucket& bucket : buckets) workspaces_.emplace_back(bucket, scratch);
    // An even number of passes over X ends where it began.
    std::size_t passes = 1;
    for (std::size_t s = 1; s < triples_.size(); ++s) passes += restarts_after(s, triples_.size());
    copy_first_ = passes % 2 == 1;
    plan();
  }

  void enqueue(cudaStream_t stream) override {
    if (copy_first_) {
      for (const Workspace& w : workspaces_) {
        check(cudaMemcpyAsync(w.x[1].data, w.bucket.x, std::size_t(w.x[0].batch_stride) * w.bucket.batch * 2,
                              cudaMemcpyDeviceToDevice, stream),
              "copying X");
      }
    }
    for (const ProductLaunch& launch : launches_) launch.enqueue(stream);
  }
  bool leaves_row_squares() const override { return true; }

 private:
  void plan() {
    const std::size_t total = triples_.size();
    std::size_t at = copy_first_ ? 1 : 0;  // which X is current
    gram(at, 0);
    bool has_q = false;
    bool scaled = false;  // X has its norm of 1
    for (std::size_t step = 0; step < total; ++step) {
      const bool last = step + 1 == total, restart = restarts_after(step + 1, total);
      polynomial(triples_[step]);
      std::vector<Product> next;
      for (Workspace& w : workspaces_) {
        if (has_q) next.push_back({.a = w.q, .b = w.w, .out = w.spare});
        if (!last && !restart) next.push_back({.a = w.r, .b = w.w, .out = w.s});
      }
      if (!next.empty()) launch(next);
      if (!last && !restart) {
        next.clear();
        for (Workspace& w : workspaces_) next.push_back(shifted({.a = w.s, .b = w.w, .out = w.r}, step + 1));
        launch(next);
      }
      for (Workspace& w : workspaces_) std::swap(w.q, has_q ? w.spare : w.w);
      has_q = true;
      if (!last && !restart) continue;
      apply(at, !scaled, last);
      scaled = true;
      has_q = false;
      at = 1 - at;
      if (restart) gram(at, step + 1);
    }
  }

  /// R <- X X^T or X^T X, whichever is smaller.
  void gram(std::size_t at, std::size_t step) {
    std::vector<Product> products;
    for (Workspace& w : workspaces_) {
      const bool wide = w.bucket.rows <= w.bucket.cols;
      Product p{.form = wide ? Product::Form::gram_rows : Product::Form::gram_columns,
                .a = w.x[at],
                .b = w.x[at],
                .out = w.r};
      if (step == 0) p.alpha = static_cast<float>(1 / (norm(w) * norm(w)));
      products.push_back(shifted(p, step));
    }
    launch(products);
  }

  /// W <- aI + cR(R + (b/c) I)
  void polynomial(const NewtonSchulzTriple& triple) {
    std::vector<Product> products;
    for (Workspace& w : workspaces_) {
      products.push_back({.a = w.r,
                          .b = w.r,
                          .out = w.w,
                          .alpha = static_cast<float>(triple.c),
                          .delta = static_cast<float>(triple.a),
                          .shifted_b = true});
    }
    launch(products);
  }

  /// X <- Q X or X Q
  void apply(std::size_t at, bool normalise, bool last) {
    std::vector<Product> products;
    for (Workspace& w : workspaces_) {
      const bool wide = w.bucket.rows <= w.bucket.cols;
      Product p{.form = wide ? Product::Form::left : Product::Form::right,
                .a = wide ? w.q : w.x[at],
                .b = wide ? w.x[at] : w.q,
                .out = w.x[1 - at]};
      if (normalise) p.alpha = static_cast<float>(1 / norm(w));
      if (last) p.row_squares = w.bucket.row_squares;
      products.push_back(p);
    }
    launch(products);
  }

  /// R's diagonal blocks once more with b/c of the step that will use them.
  Product shifted(Product p, std::size_t step) const {
    p.write_shifted = true;
    p.shift = static_cast<float>(triples_[step].b / triples_[step].c);
    return p;
  }

  static double norm(const Workspace& w) {
    return kHalfRangeRms * std::sqrt(static_cast<double>(w.bucket.rows) * w.bucket.cols);
  }

  void launch(const std::vector<Product>& products) { launches_.emplace_back(products, bfloat16_, multiprocessors_); }

  std::vector<NewtonSchulzTriple> triples_;
  bool bfloat16_, copy_first_ = false;
  int multiprocessors_;
  std::vector<Workspace> workspaces_;
  std::vector<ProductLaunch> launches_;
};

}  // namespace

bool fits_gram_form(const OrthogonalizeStage& stage) {
  for (const NewtonSchulzTriple& triple : stage.triples) {
    if (!(std::abs(triple.b) <= 1e3 * std::abs(triple.c))) return false;
  }
  return !stage.triples.empty();
}

std::unique_ptr<Orthogonalizer> make_gram_iteration(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                                    DType dtype, int multiprocessors, Carver& scratch) {
  return std::make_unique<GramIteration>(buckets, stage, dtype, multiprocessors, scratch);
}

std::size_t iteration_scratch_bytes(int rows, int cols, DType dtype) {
  // X once more, five matrices of the short side and one row of blocks on the diagonal; 256 each for alignment.
  const std::size_t n = static_cast<std::size_t>(std::min(rows, cols)), stride = (n + 7) / 8 * 8;
  const std::size_t x = static_cast<std::size_t>(rows) * ((static_cast<std::size_t>(cols) + 7) / 8 * 8);
  return size_of(dtype) *
             (x + 5 * n * stride + static_cast<std::size_t>(diagonal_block_elements(static_cast<int>(n), 1))) +
         7 * 256;
}

}  // namespace trasmuon::cuda
