// SPDX-License-Identifier: Apache-2.0
#include "cuda/passes/load_store.h"

#include "cuda/passes/block.cuh"
#include "cuda/passes/load.cuh"
#include "cuda/runtime/launch.cuh"
#include "stages/formulas.h"

namespace trasmuon::cuda {
namespace {

constexpr int kThreads = 256;

/// One block per kChunkRows rows (x) of a matrix (y), in all kernels.
template <class T>
__global__ void __launch_bounds__(kThreads) load_largest(LoadStoreBatch batch) {
  __shared__ double per_warp[kThreads / 32];
  const LoadStoreMatrix& matrix = batch.matrices[blockIdx.y];
  const int first = static_cast<int>(blockIdx.x) * kChunkRows, last = min(first + kChunkRows, batch.rows);
  double largest = 0;
  with_element<T>(matrix.in.dtype, [&](auto element) {
    using E = decltype(element);
    for (int i = first; i < last; ++i) {
      const E* row = row_of<E>(matrix.in, i);
      for (int j = static_cast<int>(threadIdx.x); j < batch.cols; j += kThreads)
        largest = fmax(largest, fabs(widen<double>(row[j])));
    }
  });
  largest = block_reduce<kThreads>(largest, per_warp, [](double a, double b) { return fmax(a, b); });
  if (threadIdx.x == 0) matrix.largest[blockIdx.x] = largest;
}

/// See exponent_to_remove. Only squares of f64 can leave the range of f64.
template <class T>
__device__ int exponent_of(const LoadStoreMatrix& matrix) {
  if (sizeof(T) < sizeof(double)) return 0;
  double largest = 0;
  for (unsigned part = 0; part < gridDim.x; ++part) largest = fmax(largest, matrix.largest[part]);
  return exponent_to_remove(largest);
}

/// x / 2^exponent
template <class T>
__device__ T without_exponent(T x, int exponent) {
  return exponent == 0 ? x : static_cast<T>(ldexp(static_cast<double>(x), -exponent));
}

template <class T>
__global__ void __launch_bounds__(kThreads) load_squares(LoadStoreBatch batch) {
  __shared__ double per_warp[kThreads / 32];
  const LoadStoreMatrix& matrix = batch.matrices[blockIdx.y];
  const int exponent = exponent_of<T>(matrix);
  const int first = static_cast<int>(blockIdx.x) * kChunkRows, last = min(first + kChunkRows, batch.rows);
  double sum = 0;
  with_element<T>(matrix.in.dtype, [&](auto element) {
    using E = decltype(element);
    for (int i = first; i < last; ++i) {
      const E* row = row_of<E>(matrix.in, i);
      for (int j = static_cast<int>(threadIdx.x); j < batch.cols; j += kThreads) {
        const double value = without_exponent(widen<double>(row[j]), exponent);
        sum += value * value;
      }
    }
  });
  sum = block_sum<kThreads>(sum, per_warp);
  if (threadIdx.x == 0) matrix.parts[blockIdx.x] = sum;
}

template <class T, class X>
__global__ void __launch_bounds__(kThreads) load_scaled(LoadStoreBatch batch, InputNorm norm, InputScale scale) {
  const LoadStoreMatrix& matrix = batch.matrices[blockIdx.y];
  double squares = 0;  // in the same order in every thread
  for (unsigned part = 0; part < gridDim.x; ++part) squares += matrix.parts[part];
  const double elements = static_cast<double>(batch.rows) * batch.cols;
  const int exponent = exponent_of<T>(matrix);
  norm.eps_absolute = without_exponent(norm.eps_absolute, exponent);
  const T factor = static_cast<T>(scale_of_input(norm, squares, elements, dtype_of<T>(), scale));
  const int first = static_cast<int>(blockIdx.x) * kChunkRows, last = min(first + kChunkRows, batch.rows);
  X* x = static_cast<X*>(batch.x) + static_cast<std::int64_t>(blockIdx.y) * batch.rows * batch.row_stride;
  with_element<T>(matrix.in.dtype, [&](auto element) {
    using E = decltype(element);
    for (int i = first; i < last; ++i) {
      const E* row = row_of<E>(matrix.in, i);
      for (int j = static_cast<int>(threadIdx.x); j < batch.row_stride; j += kThreads)
        x[i * batch.row_stride + j] =
            narrow<X>(j < batch.cols ? factor * without_exponent(widen<T>(row[j]), exponent) : T(0));
    }
  });
}

template <class T, class X>
__global__ void __launch_bounds__(kThreads) store(LoadStoreBatch batch) {
  const LoadStoreMatrix& matrix = batch.matrices[blockIdx.y];
  const int first = static_cast<int>(blockIdx.x) * kChunkRows, last = min(first + kChunkRows, batch.rows);
  const X* o = static_cast<const X*>(batch.o) + static_cast<std::int64_t>(blockIdx.y) * batch.rows * batch.row_stride;
  with_element<T>(matrix.out.dtype, [&](auto element) {
    using E = decltype(element);
    for (int i = first; i < last; ++i) {
      E* row = row_of<E>(matrix.out, i);
      for (int j = static_cast<int>(threadIdx.x); j < batch.cols; j += kThreads)
        row[j] = narrow<E>(widen<T>(o[i * batch.row_stride + j]));
    }
  });
}

dim3 grid_of(const LoadStoreBatch& batch) {
  return {static_cast<unsigned>((batch.rows + kChunkRows - 1) / kChunkRows), static_cast<unsigned>(batch.count)};
}

}  // namespace

void enqueue_load(const LoadStoreBatch& batch, const InputNorm& norm, InputScale scale, cudaStream_t stream) {
  const auto run = [&](auto squares, auto load) {
    if (batch.dtype == DType::f64) launch(load_largest<double>, grid_of(batch), kThreads, stream, batch);
    launch(squares, grid_of(batch), kThreads, stream, batch);
    launch(load, grid_of(batch), kThreads, stream, batch, norm, scale);
  };
  switch (batch.dtype) {
    case DType::f64: run(load_squares<double>, load_scaled<double, double>); break;
    case DType::f32: run(load_squares<float>, load_scaled<float, float>); break;
    case DType::f16: run(load_squares<float>, load_scaled<float, __half>); break;
    default: run(load_squares<float>, load_scaled<float, __nv_bfloat16>); break;
  }
}

void enqueue_store(const LoadStoreBatch& batch, cudaStream_t stream) {
  const auto run = [&](auto kernel) { launch(kernel, grid_of(batch), kThreads, stream, batch); };
  switch (batch.dtype) {
    case DType::f64: run(store<double, double>); break;
    case DType::f32: run(store<float, float>); break;
    case DType::f16: run(store<float, __half>); break;
    default: run(store<float, __nv_bfloat16>); break;
  }
}

}  // namespace trasmuon::cuda
