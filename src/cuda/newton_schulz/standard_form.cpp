// SPDX-License-Identifier: Apache-2.0
#include "cuda/newton_schulz/standard_form.h"

#include "cuda/newton_schulz/copy_rows.h"
#include "cuda/runtime/rounding.h"

namespace trasmuon::cuda {
namespace {

std::size_t x_bytes(const Bucket& b, std::size_t element) {
  return static_cast<std::size_t>(b.rows) * static_cast<std::size_t>(b.row_stride) * static_cast<std::size_t>(b.batch) *
         element;
}

/// A bucket and its scratch: the old X, A = X X^T, and bA + cA^2.
struct Item {
  Bucket b;
  int stride;
  void *y, *gram, *polynomial;

  Item(const Bucket& bucket, std::size_t element, Arena& scratch) : b(bucket), stride(aligned_stride(b.short_side())) {
    const std::size_t squares = static_cast<std::size_t>(b.short_side()) * static_cast<std::size_t>(stride) *
                                static_cast<std::size_t>(b.batch) * element;
    y = scratch.take_bytes(x_bytes(b, element));
    gram = scratch.take_bytes(squares);
    polynomial = scratch.take_bytes(squares);
  }
};

/// X <- aX + (bA + cA^2) X with A = X X^T on the short side; each product is one cuBLAS call.   eq:ns_main
class StandardForm final : public Iteration {
 public:
  StandardForm(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage, const Precision& precision,
               const Blas& blas, Arena& scratch)
      : triples_(stage.triples), precision_(precision), blas_(blas) {
    for (const Bucket& b : buckets) items_.emplace_back(b, size_of(precision.dtype), scratch);
  }

  void enqueue(cudaStream_t stream) override {
    blas_.use(stream);
    for (const Item& item : items_) {
      for (const NewtonSchulzTriple& triple : triples_) step(item, triple, stream);
    }
  }

 private:
  void step(const Item& item, const NewtonSchulzTriple& triple, cudaStream_t stream) {
    const Bucket& b = item.b;
    const int n = b.short_side(), l = b.long_side();
    const bool wide = b.rows <= b.cols;
    const DType dtype = precision_.dtype;
    const std::int64_t square = std::int64_t{n} * item.stride, whole = std::int64_t{b.rows} * b.row_stride;
    const BlasMatrices x{b.x, dtype, b.row_stride, whole}, y{item.y, dtype, b.row_stride, whole};
    const BlasMatrices gram{item.gram, dtype, item.stride, square};
    const BlasMatrices polynomial{item.polynomial, dtype, item.stride, square};
    const auto run = [&](BlasProduct product) {
      product.batch = b.batch;
      product.tf32 = precision_.tf32;
      blas_.multiply(product);
    };
    const BlasMatrices left = wide ? x : x.transpose();
    run({.m = n, .n = n, .k = l, .a = left, .b = left.transpose(), .c = gram});
    enqueue_copy_rows(item.polynomial, item.gram, dtype, std::int64_t{n} * b.batch, n, item.stride, stream);
    run({.m = n, .n = n, .k = n, .a = gram, .b = gram, .c = polynomial, .alpha = triple.c, .beta = triple.b});
    enqueue_copy_rows(item.y, b.x, dtype, std::int64_t{b.rows} * b.batch, b.cols, b.row_stride, stream);
    run({.m = b.rows,
         .n = b.cols,
         .k = n,
         .a = wide ? polynomial : y,
         .b = wide ? y : polynomial,
         .c = x,
         .beta = triple.a});
  }

  std::vector<NewtonSchulzTriple> triples_;
  Precision precision_;
  const Blas& blas_;
  std::vector<Item> items_;
};

}  // namespace

std::size_t standard_form_scratch_bytes(const std::vector<Bucket>& buckets, DType dtype) {
  Arena counter;
  for (const Bucket& b : buckets) (void)Item(b, size_of(dtype), counter);
  return counter.used();
}

std::unique_ptr<Iteration> make_standard_form(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage,
                                              const Precision& precision, const Blas& blas, Arena& scratch) {
  return std::make_unique<StandardForm>(buckets, stage, precision, blas, scratch);
}

}  // namespace trasmuon::cuda
