// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime/blas.h"

#include <string>

#include "trasmuon/error.h"

namespace trasmuon::cuda {
namespace {

void check(cublasStatus_t status) {
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

cublasComputeType_t compute_type(const BlasProduct& p) {
  if (p.a.dtype == DType::f64) return CUBLAS_COMPUTE_64F;
  if (p.a.dtype != DType::f32) return CUBLAS_COMPUTE_32F;
  return p.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F_PEDANTIC;
}

}  // namespace

Blas::Blas() {
  if (cublasCreate(&handle_) != CUBLAS_STATUS_SUCCESS) throw Error("cublas: cannot be initialised");
  workspace_ = DeviceMemory(std::size_t{32} << 20);
}

Blas::~Blas() { (void)cublasDestroy(handle_); }

void Blas::use(cudaStream_t stream) const {
  check(cublasSetStream(handle_, stream));
  check(cublasSetWorkspace(handle_, workspace_.data(), workspace_.bytes()));  // setting the stream resets it
}

void Blas::multiply(const BlasProduct& p) const {
  const float alpha32 = static_cast<float>(p.alpha), beta32 = static_cast<float>(p.beta);
  const bool wide = p.a.dtype == DType::f64;
  const auto op = [](const BlasMatrices& x) { return x.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  // cuBLAS is column-major, so it sees every matrix transposed: C^T = B^T A^T.
  check(cublasGemmStridedBatchedEx(
      handle_, op(p.b), op(p.a), p.n, p.m, p.k, wide ? static_cast<const void*>(&p.alpha) : &alpha32, p.b.data,
      data_type(p.b.dtype), static_cast<int>(p.b.stride), p.b.batch_stride, p.a.data, data_type(p.a.dtype),
      static_cast<int>(p.a.stride), p.a.batch_stride, wide ? static_cast<const void*>(&p.beta) : &beta32, p.c.data,
      data_type(p.c.dtype), static_cast<int>(p.c.stride), p.c.batch_stride, p.batch, compute_type(p),
      CUBLAS_GEMM_DEFAULT));
}

}  // namespace trasmuon::cuda
