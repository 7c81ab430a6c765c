// SPDX-License-Identifier: Apache-2.0
//
// cuBLAS's product in plain loops; 16-bit numbers are summed in f32, in the order of k.
#include <bit>
#include <vector>

#include "cublas_v2.h"
#include "runtime.h"
#include "trasmuon/half.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
};

namespace {

/// A column-major matrix of any of the types.
struct Operand {
  void* data;
  cudaDataType_t type;
  std::int64_t leading;

  template <class T>
  T& at(std::int64_t i, std::int64_t j) const {
    return static_cast<T*>(data)[j * leading + i];
  }
  template <class Sum>
  Sum load(std::int64_t i, std::int64_t j) const {
    switch (type) {
      case CUDA_R_64F: return static_cast<Sum>(at<double>(i, j));
      case CUDA_R_16F: return trasmuon::to_float(at<trasmuon::f16>(i, j));
      case CUDA_R_16BF: return trasmuon::to_float(at<trasmuon::bf16>(i, j));
      default: return at<float>(i, j);
    }
  }
  template <class Sum>
  void store(std::int64_t i, std::int64_t j, Sum x) const {
    switch (type) {
      case CUDA_R_64F: at<double>(i, j) = x; break;
      case CUDA_R_16F: at<trasmuon::f16>(i, j) = trasmuon::to_f16(static_cast<float>(x)); break;
      case CUDA_R_16BF: at<trasmuon::bf16>(i, j) = trasmuon::to_bf16(static_cast<float>(x)); break;
      default: at<float>(i, j) = static_cast<float>(x); break;
    }
  }
  Operand moved(std::int64_t elements) const {
    const std::int64_t bytes = type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
    return {static_cast<char*>(data) + elements * bytes, type, leading};
  }
};

/// To the ten digits of TF32, ties away from zero.
float to_tf32(float x) { return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000u) & ~0x1fffu); }

/// op(x), rows x cols, by columns.
template <class Sum>
std::vector<Sum> packed(const Operand& x, bool transposed, int rows, int cols, bool tf32) {
  std::vector<Sum> all;
  all.reserve(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
  for (int j = 0; j < cols; ++j) {
    for (int i = 0; i < rows; ++i) all.push_back(transposed ? x.load<Sum>(j, i) : x.load<Sum>(i, j));
  }
  if (tf32) {
    for (Sum& value : all) value = to_tf32(static_cast<float>(value));
  }
  return all;
}

struct Sizes {
  int m, n, k;
  bool transposed_a, transposed_b, tf32;
};

template <class Sum>
void multiply(const Sizes& s, Sum alpha, const Operand& a, const Operand& b, Sum beta, const Operand& c) {
  const std::vector<Sum> left = packed<Sum>(a, s.transposed_a, s.m, s.k, s.tf32);
  const std::vector<Sum> right = packed<Sum>(b, s.transposed_b, s.k, s.n, s.tf32);
  const auto m = static_cast<std::size_t>(s.m), depth = static_cast<std::size_t>(s.k);
  std::vector<Sum> sums(m);
  for (int j = 0; j < s.n; ++j) {
    std::fill(sums.begin(), sums.end(), Sum(0));
    for (std::size_t p = 0; p < depth; ++p) {
      const Sum factor = right[static_cast<std::size_t>(j) * depth + p];
      const Sum* column = left.data() + p * m;
      for (std::size_t i = 0; i < m; ++i) sums[i] += column[i] * factor;
    }
    for (int i = 0; i < s.m; ++i) {
      const Sum product = alpha * sums[static_cast<std::size_t>(i)];
      c.store(i, j, beta == 0 ? product : product + beta * c.load<Sum>(i, j));  // beta = 0: C need not be written
    }
  }
}

}  // namespace

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    default: return "CUBLAS_STATUS_EXECUTION_FAILED";
  }
}

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, std::size_t) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                                          int n, int k, const void* alpha, const void* a, cudaDataType_t a_type,
                                          int lda, long long a_stride, const void* b, cudaDataType_t b_type, int ldb,
                                          long long b_stride, const void* beta, void* c, cudaDataType_t c_type, int ldc,
                                          long long c_stride, int batch, cublasComputeType_t compute,
                                          cublasGemmAlgo_t) {
  const bool wide = compute == CUBLAS_COMPUTE_64F,
             all_wide = a_type == CUDA_R_64F && b_type == a_type && c_type == a_type;
  if (m < 0 || n < 0 || k < 0 || batch < 0 || lda < (op_a == CUBLAS_OP_N ? m : k) || lda < 1 ||
      ldb < (op_b == CUBLAS_OP_N ? k : n) || ldb < 1 || ldc < m || ldc < 1 || wide != all_wide || a_type != b_type) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const Operand x{const_cast<void*>(a), a_type, lda}, y{const_cast<void*>(b), b_type, ldb}, z{c, c_type, ldc};
  const Sizes sizes{m, n, k, op_a == CUBLAS_OP_T, op_b == CUBLAS_OP_T, compute == CUBLAS_COMPUTE_32F_FAST_TF32};
  const auto all = [=]<class Sum>(Sum alpha_value, Sum beta_value) {
    return host_cuda::enqueue(handle->stream, [=] {
      for (int i = 0; i < batch; ++i)
        multiply<Sum>(sizes, alpha_value, x.moved(i * a_stride), y.moved(i * b_stride), beta_value,
                      z.moved(i * c_stride));
    });
  };
  const cudaError_t error = wide ? all(*static_cast<const double*>(alpha), *static_cast<const double*>(beta))
                                 : all(*static_cast<const float*>(alpha), *static_cast<const float*>(beta));
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
