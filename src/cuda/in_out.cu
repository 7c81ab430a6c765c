// SPDX-License-Identifier: Apache-2.0
//
// Into and out of the iteration's matrices, for matrices that are not being stepped; and between two of them.
#include "cuda/block_sum.cuh"
#include "cuda/input_scale.cuh"
#include "cuda/kernels.h"
#include "cuda/load.cuh"

namespace trasmuon::cuda {
namespace {

constexpr int kThreads = 256;

/// One block for each kChunkRows rows (x) of a matrix (y).
template <class T>
__global__ void __launch_bounds__(kThreads) partial_squares(InOutBatch batch) {
  __shared__ double scratch[33];
  const InOut& matrix = batch.matrices[blockIdx.y];
  const int first = static_cast<int>(blockIdx.x) * kChunkRows, last = min(first + kChunkRows, batch.rows);
  double sum = 0;
  with_element<T>(matrix.in.dtype, [&](auto element) {
    using E = decltype(element);
    for (int i = first; i < last; ++i) {
      const E* row = row_of<E>(matrix.in, i);
      for (int j = static_cast<int>(threadIdx.x); j < batch.cols; j += kThreads) {
        const double value = widen<double>(row[j]);
        sum += value * value;
      }
    }
  });
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) matrix.parts[blockIdx.x] = sum;
}

template <class T, class X>
__global__ void __launch_bounds__(kThreads) load_scaled(InOutBatch batch, InputEps eps, InputScale scale) {
  const InOut& matrix = batch.matrices[blockIdx.y];
  double squares = 0;  // every thread in the same order
  for (unsigned part = 0; part < gridDim.x; ++part) squares += matrix.parts[part];
  const double elements = static_cast<double>(batch.rows) * batch.cols;
  const T factor = static_cast<T>(input_scale(squares, elements, eps, scale));
  const int first = static_cast<int>(blockIdx.x) * kChunkRows, last = min(first + kChunkRows, batch.rows);
  X* x = static_cast<X*>(batch.x) + static_cast<std::int64_t>(blockIdx.y) * batch.rows * batch.row_stride;
  with_element<T>(matrix.in.dtype, [&](auto element) {
    using E = decltype(element);
    for (int i = first; i < last; ++i) {
      const E* row = row_of<E>(matrix.in, i);
      for (int j = static_cast<int>(threadIdx.x); j < batch.row_stride; j += kThreads)
        x[i * batch.row_stride + j] = narrow<X>(j < batch.cols ? factor * widen<T>(row[j]) : T(0));
    }
  });
}

template <class T, class X>
__global__ void __launch_bounds__(kThreads) store_result(InOutBatch batch) {
  const InOut& matrix = batch.matrices[blockIdx.y];
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

/// One block a row.
template <class Word>
__global__ void __launch_bounds__(kThreads) copy_rows(Word* to, const Word* from, int cols, std::int64_t stride) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * stride;
  for (int j = static_cast<int>(threadIdx.x); j < cols; j += kThreads) to[row + j] = from[row + j];
}

dim3 grid_of(const InOutBatch& batch) {
  return {static_cast<unsigned>((batch.rows + kChunkRows - 1) / kChunkRows), static_cast<unsigned>(batch.count)};
}

}  // namespace

void enqueue_load(const InOutBatch& batch, const InputEps& eps, InputScale scale, cudaStream_t stream) {
  const auto run = [&](auto squares, auto load) {
    squares<<<grid_of(batch), kThreads, 0, stream>>>(batch);
    load<<<grid_of(batch), kThreads, 0, stream>>>(batch, eps, scale);
  };
  switch (batch.dtype) {
    case DType::f64: run(partial_squares<double>, load_scaled<double, double>); break;
    case DType::f32: run(partial_squares<float>, load_scaled<float, float>); break;
    case DType::f16: run(partial_squares<float>, load_scaled<float, __half>); break;
    default: run(partial_squares<float>, load_scaled<float, __nv_bfloat16>); break;
  }
}

void enqueue_store(const InOutBatch& batch, cudaStream_t stream) {
  const auto run = [&](auto store) { store<<<grid_of(batch), kThreads, 0, stream>>>(batch); };
  switch (batch.dtype) {
    case DType::f64: run(store_result<double, double>); break;
    case DType::f32: run(store_result<float, float>); break;
    case DType::f16: run(store_result<float, __half>); break;
    default: run(store_result<float, __nv_bfloat16>); break;
  }
}

void enqueue_copy(void* to, const void* from, DType dtype, std::int64_t rows, int cols, std::int64_t stride,
                  cudaStream_t stream) {
  const auto run = [&]<class Word>(Word) {
    copy_rows<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(static_cast<Word*>(to),
                                                                    static_cast<const Word*>(from), cols, stride);
  };
  switch (size_of(dtype)) {
    case 8: run(std::uint64_t{}); break;
    case 4: run(std::uint32_t{}); break;
    default: run(std::uint16_t{}); break;
  }
}

}  // namespace trasmuon::cuda
