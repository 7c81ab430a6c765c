// SPDX-License-Identifier: Apache-2.0
#include "cuda/ceilings.h"

#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

#include "cuda/parameters.h"
#include "cuda/timing.h"

namespace trasmuon::bench {
namespace {

constexpr int kRepeats = 20;
constexpr int kProductSize = 8192;
constexpr std::size_t kLargestCopy = std::size_t{4} << 30;

struct CudaFree {
  void operator()(void* block) const { (void)cudaFree(block); }
};

std::unique_ptr<void, CudaFree> allocate(std::size_t bytes) {
  void* data = nullptr;
  check_cuda(cudaMalloc(&data, bytes));
  return std::unique_ptr<void, CudaFree>(data);
}

void check_cublas(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw Error(std::string("cuBLAS: ") + cublasGetStatusString(status));
}

/// On random matrices: a product of zeros draws less power and so runs faster.
double product_rate(cublasHandle_t handle, DType dtype) {
  const NamedMatrix matrix{"", kProductSize, kProductSize};
  const CudaParameters factors(std::span(&matrix, 1), dtype);
  const void *a = factors.weights()[0].data, *b = factors.gradients()[0].data;
  const auto c = allocate(std::size_t{kProductSize} * kProductSize * 2);
  const cudaDataType type = dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_16F;
  const float one = 1, zero = 0;
  const Samples times = milliseconds(
      [&] {
        check_cublas(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, kProductSize, kProductSize, kProductSize, &one, a,
                                  type, kProductSize, b, type, kProductSize, &zero, c.get(), type, kProductSize,
                                  CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
      },
      kRepeats);
  return 2 * std::pow(kProductSize, 3) / times.median() * 1e-9;
}

double copy_rate() {
  std::size_t available = 0, total = 0;
  check_cuda(cudaMemGetInfo(&available, &total));
  const std::size_t bytes = std::min(kLargestCopy, available / 4);
  const auto from = allocate(bytes), to = allocate(bytes);
  check_cuda(cudaMemset(from.get(), 1, bytes));
  const Samples times = milliseconds(
      [&] { check_cuda(cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice)); }, kRepeats);
  return 2 * static_cast<double>(bytes) / times.median() * 1e-9;
}

}  // namespace

CudaCeilings measure_ceilings() {
  cublasHandle_t handle = nullptr;
  check_cublas(cublasCreate(&handle));
  CudaCeilings ceilings;
  ceilings.bf16_product = product_rate(handle, DType::bf16);
  ceilings.f16_product = product_rate(handle, DType::f16);
  check_cublas(cublasDestroy(handle));
  ceilings.copy = copy_rate();
  return ceilings;
}

double floor_milliseconds(std::span<const NamedMatrix> matrices, const CudaCeilings& ceilings) {
  constexpr double kBytesPerParameter = 26;  // f32 weight, gradient and momentum, and a 16-bit copy
  double operations = 0, elements = 0;
  for (const NamedMatrix& matrix : matrices) {
    const auto s = static_cast<double>(std::min(matrix.rows, matrix.cols));
    const auto l = static_cast<double>(std::max(matrix.rows, matrix.cols));
    operations += (6 * l / s + 14) * s * s * s;
    elements += s * l;
  }
  return (operations / ceilings.bf16_product + elements * kBytesPerParameter / ceilings.copy) * 1e-9;
}

}  // namespace trasmuon::bench
