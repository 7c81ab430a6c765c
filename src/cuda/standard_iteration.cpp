// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "cuda/orthogonalize.h"

namespace trasmuon::cuda {
namespace {

void check_blas(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw Error(std::string("cublas: ") + cublasGetStatusString(status));
}

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return CUDA_R_64F;
    case DType::bf16: return CUDA_R_16BF;
    case DType::f16: return CUDA_R_16F;
    default: return CUDA_R_32F;
  }
}

std::size_t x_bytes(const Bucket& b, std::size_t element) {
  return static_cast<std::size_t>(b.rows) * static_cast<std::size_t>(b.row_stride) *
         static_cast<std::size_t>(b.batch) * element;
}

/// A bucket and its scratch.
struct Item {
  Bucket b;
  int stride;
  void *y, *gram, *polynomial;

  Item(const Bucket& bucket, std::size_t element, Carver& scratch) : b(bucket), stride((b.short_side() + 7) / 8 * 8) {
    const std::size_t squares = static_cast<std::size_t>(b.short_side()) * static_cast<std::size_t>(stride) *
                                static_cast<std::size_t>(b.batch) * element;
    y = scratch.take_bytes(x_bytes(b, element));
    gram = scratch.take_bytes(squares);
    polynomial = scratch.take_bytes(squares);
  }
};

/// X <- aX + (bA + cA^2) X with A = X X^T on the short side: every product a cuBLAS call.
class StandardIteration final : public Orthogonalizer {
 public:
  StandardIteration(const std::vector<Bucket>& buckets, const OrthogonalizeStage& stage, const Precision& precision,
                    cublasHandle_t blas, Carver& scratch)
      : triples_(stage.triples), type_(data_type(precision.dtype)), element_(size_of(precision.dtype)), blas_(blas) {
    compute_ = precision.dtype == DType::f64   ? CUBLAS_COMPUTE_64F
               : precision.tf32                ? CUBLAS_COMPUTE_32F_FAST_TF32
               : precision.dtype == DType::f32 ? CUBLAS_COMPUTE_32F_PEDANTIC
                                               : CUBLAS_COMPUTE_32F;
    for (const Bucket& b : buckets) items_.emplace_back(b, element_, scratch);
  }

  void enqueue(cudaStream_t stream) override {
    check_blas(cublasSetStream(blas_, stream));
    for (const Item& item : items_) {
      for (const NewtonSchulzTriple& triple : triples_) step(item, triple, stream);
    }
  }

 private:
  void step(const Item& item, const NewtonSchulzTriple& triple, cudaStream_t stream) {
    // cuBLAS counts by columns: our rows x cols is its cols x rows.
    const Bucket& b = item.b;
    const int n = b.short_side(), l = b.long_side();
    const bool wide = b.rows <= b.cols;
    const auto copy = [&](void* to, const void* from, std::size_t bytes) {
      check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "copying an iterate");
    };
    const Factor x{b.x, b.row_stride, std::int64_t{b.rows} * b.row_stride};
    const Factor gram{item.gram, item.stride, std::int64_t{n} * item.stride};
    const Factor polynomial{item.polynomial, item.stride, gram.batch_stride};
    const Factor y{item.y, b.row_stride, x.batch_stride};
    const auto T = CUBLAS_OP_T, N = CUBLAS_OP_N;
    multiply(wide ? T : N, wide ? N : T, n, n, l, b.batch, 1, x, x, 0, gram);
    copy(polynomial.data, gram.data, std::size_t(gram.batch_stride) * b.batch * element_);
    multiply(N, N, n, n, n, b.batch, triple.c, gram, gram, triple.b, polynomial);
    copy(y.data, x.data, x_bytes(b, element_));
    if (wide) multiply(N, N, l, n, n, b.batch, 1, y, polynomial, triple.a, x);
    else multiply(N, N, n, l, n, b.batch, 1, polynomial, y, triple.a, x);
  }

  struct Factor {
    void* data;
    int stride;
    std::int64_t batch_stride;
  };

  void multiply(cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, int batch, double alpha,
                const Factor& a, const Factor& b, double beta, const Factor& c) {
    const float alpha32 = static_cast<float>(alpha), beta32 = static_cast<float>(beta);
    const bool wide = type_ == CUDA_R_64F;
    check_blas(cublasGemmStridedBatchedEx(
        blas_, op_a, op_b, m, n, k, wide ? static_cast<const void*>(&alpha) : &alpha32, a.data, type_, a.stride,
        a.batch_stride, b.data, type_, b.stride, b.batch_stride, wide ? static_cast<const void*>(&beta) : &beta32,
        c.data, type_, c.stride, c.batch_stride, batch, compute_, CUBLAS_GEMM_DEFAULT));
  }

  std::vector<NewtonSchulzTriple> triples_;
  cudaDataType_t type_;
  cublasComputeType_t compute_;
  std::size_t element_;
  cublasHandle_t blas_;
  std::vector<Item> items_;
};

}  // namespace

std::size_t standard_scratch_bytes(const std::vector<Bucket>& buckets, DType dtype) {
  Carver counter(nullptr);
  for (const Bucket& b : buckets) (void)Item(b, size_of(dtype), counter);
  return counter.used();
}

std::unique_ptr<Orthogonalizer> make_standard_iteration(const std::vector<Bucket>& buckets,
                                                        const OrthogonalizeStage& stage, const Precision& precision,
                                                        cublasHandle_t blas, Carver& scratch) {
  return std::make_unique<StandardIteration>(buckets, stage, precision, blas, scratch);
}

}  // namespace trasmuon::cuda
