// SPDX-License-Identifier: Apache-2.0
#include "cuda/dion_step.h"

#include <algorithm>

#include "cuda/runtime/rounding.h"

namespace trasmuon::cuda {

/// The matrices of one bucket and their scratch; a counting arena only measures it.
struct DionStep::Shape {
  int batch, m, n, rank, rows, cols;
  bool transposed;
  BlasMatrices direction, sum, q, p, r, scaled_r;
  BlasMatrices components[2];  ///< of the first and the second projection
  double *norms, *errors;

  /// `x`: one of them.
  Shape(const Matrix& x, int count, Arena& scratch)
      : batch(count),
        m(static_cast<int>(x.m)),
        n(static_cast<int>(x.n)),
        rank(static_cast<int>(x.basis.cols)),
        rows(static_cast<int>(x.weight.rows)),
        cols(static_cast<int>(x.weight.cols)),
        transposed(x.transposed) {
    const auto take = [&](int height, int stride) {
      const std::int64_t each = std::int64_t{height} * stride;
      return BlasMatrices{scratch.take_bytes(static_cast<std::size_t>(each * batch) * size_of(x.compute)), x.compute,
                          stride, each};
    };
    sum = take(rows, aligned_stride(cols));
    q = take(n, rank);
    p = take(rank, aligned_stride(m));
    r = take(rank, aligned_stride(n));
    scaled_r = take(rank, aligned_stride(n));
    for (BlasMatrices& pass : components) pass = take(kDionBlock, rank);
    norms = scratch.take<double>(std::int64_t{batch} * rank);
    errors = scratch.take<double>(std::int64_t{batch} * rank);
  }
};

/// Several matrices in one bucket need at most as much as they do alone.
std::size_t DionStep::scratch_bytes(const Matrix& x) {
  Arena counter;
  (void)Shape(x, 1, counter);
  return counter.used();
}

DionStep::DionStep(std::span<const Matrix> group, std::span<const std::size_t> indices,
                   const std::vector<Bucket>& buckets, const Blas& blas, Arena& scratch)
    : blas_(blas) {
  std::vector<DionMatrix> table;
  for (const Bucket& b : buckets) {
    const Matrix& first = group[indices[table.size()]];
    const DType dtype = first.compute;
    Shape shape(first, b.batch, scratch);
    shape.direction = {b.x, dtype, b.row_stride, std::int64_t{b.rows} * b.row_stride};
    for (int k = 0; k < b.batch; ++k) {
      const auto at = [&](const BlasMatrices& x) {
        return static_cast<std::byte*>(x.data) + k * x.batch_stride * static_cast<std::int64_t>(size_of(dtype));
      };
      const Matrix& x = group[indices[table.size()]];
      table.push_back({{at(shape.sum), shape.sum.stride, dtype},
                       x.basis.data,
                       at(shape.q),
                       at(shape.p),
                       at(shape.r),
                       at(shape.scaled_r),
                       at(shape.components[0]),
                       shape.norms + std::int64_t{k} * shape.rank,
                       shape.errors + std::int64_t{k} * shape.rank,
                       shape.rank,
                       shape.m,
                       shape.n,
                       static_cast<int>(shape.p.stride),
                       static_cast<int>(shape.r.stride)});
    }
    max_rank_ = std::max(max_rank_, shape.rank);
    shapes_.push_back(shape);
  }
  table_ = uploaded(table);
}

DionStep::~DionStep() = default;

/// Makes P^T's rows [first, first + kDionBlock) orthogonal to the rows before them; twice, for accuracy.
void DionStep::project_out(const Shape& s, int first) const {
  const int count = std::min(kDionBlock, s.rank - first);
  if (first == 0 || count <= 0) return;
  BlasMatrices block = s.p;
  block.data = static_cast<std::byte*>(s.p.data) + first * s.p.stride * static_cast<std::int64_t>(size_of(s.p.dtype));
  for (int pass = 0; pass < 2; ++pass) {
    blas_.multiply({.m = count,
                    .n = first,
                    .k = s.m,
                    .batch = s.batch,
                    .a = block,
                    .b = s.p.transpose(),
                    .c = s.components[pass]});
    blas_.multiply({.m = count,
                    .n = s.m,
                    .k = first,
                    .batch = s.batch,
                    .a = s.components[pass],
                    .b = s.p,
                    .c = block,
                    .alpha = -1,
                    .beta = 1});
  }
}

void DionStep::enqueue(const StepTables& step, cudaStream_t stream) const {
  enqueue_dion_add_gradient(step, matrices(), stream);
  enqueue_dion_load_basis(step, matrices(), stream);
  factorize(step, stream);
  update(step, stream);
}

void DionStep::factorize(const StepTables& step, cudaStream_t stream) const {
  blas_.use(stream);
  for (const Shape& s : shapes_) {  // P = B Q
    blas_.multiply({.m = s.rank,
                    .n = s.m,
                    .k = s.n,
                    .batch = s.batch,
                    .a = s.q.transpose(),
                    .b = s.transposed ? s.sum : s.sum.transpose(),
                    .c = s.p});
  }
  enqueue_dion_unit_rows(step, matrices(), max_rank_, stream);
  // P = orth(P) by block Gram-Schmidt, as on the CPU
  for (int first = 0; first < max_rank_; first += kDionBlock) {
    for (const Shape& s : shapes_) project_out(s, first);
    enqueue_dion_orthonormalize(step, matrices(), first, stream);
  }
  for (const Shape& s : shapes_) {  // R = B^T P
    blas_.multiply({.m = s.rank,
                    .n = s.n,
                    .k = s.m,
                    .batch = s.batch,
                    .a = s.p,
                    .b = s.transposed ? s.sum.transpose() : s.sum,
                    .c = s.r});
  }
}

void DionStep::update(const StepTables& step, cudaStream_t stream) const {
  blas_.use(stream);
  enqueue_dion_basis(step, matrices(), max_rank_, stream);
  for (const Shape& s : shapes_) {
    if (s.rows == 0) continue;  // a rank without rows keeps Q alone
    const auto outer_product = [&](const BlasMatrices& r, const BlasMatrices& out, double beta) {
      const BlasMatrices &tall = s.transposed ? r : s.p, &wide = s.transposed ? s.p : r;
      blas_.multiply({.m = s.rows,
                      .n = s.cols,
                      .k = s.rank,
                      .batch = s.batch,
                      .a = tall.transpose(),
                      .b = wide,
                      .c = out,
                      .beta = beta});
    };
    outer_product(s.scaled_r, s.sum, 1);  // M <- B - (1 - mu) P R^T
    outer_product(s.r, s.direction, 0);   // O = P R^T, R with columns of unit length
  }
  if (step.chunk_count > 0) enqueue_dion_momentum(step, matrices(), stream);
}

}  // namespace trasmuon::cuda
