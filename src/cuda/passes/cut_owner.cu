// SPDX-License-Identifier: Apache-2.0
#include "cuda/passes/cut.h"
#include "cuda/passes/load.cuh"
#include "cuda/runtime/launch.cuh"
#include "stages/cut_step.h"

namespace trasmuon::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kAhead = 4;  // rows loaded at once

__device__ __forceinline__ DeviceView rows_at(const void* data, int row_stride) {
  return {const_cast<void*>(data), row_stride, DType::f32};
}

/// to <- factor * from, with zeros from `cols` up to `width` and, if factor is 0, everywhere. From, To: element types.
template <class From, class To, class T>
__device__ __forceinline__ void scale_rows(const DeviceView& from, const DeviceView& to, int rows, int cols, int width,
                                           T factor) {
  const bool aligned = aligned4<To>(to);
  with_bool(whole_fours<From>(from, cols), [&](auto whole) {
    for (int j = 4 * static_cast<int>(threadIdx.x); j < width; j += 4 * kThreads) {
      for (int first = 0; first < rows; first += kAhead) {
        T x[kAhead][4];
        load_rows<whole.value, From>(from, first, rows, j, cols, x);
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
#pragma unroll
          for (int e = 0; e < 4; ++e) x[k][e] = factor != T(0) ? factor * x[k][e] : T(0);
          if (first + k < rows) store4(row_of<To>(to, first + k), j, width, aligned, x[k]);
        }
      }
    }
  });
}

/// One block per chunk, in both kernels.
template <class T, class X>
__global__ void __launch_bounds__(kThreads)
    owned_load(OwnedTables tables, const std::byte* gathered, const double* sums) {
  const OwnedChunk chunk = tables.chunks[blockIdx.x];
  const double squares = sums[chunk.sums + static_cast<std::size_t>(chunk.cols)];
  const double tally = sums[chunk.sums + static_cast<std::size_t>(chunk.cols) + 1];
  const double elements = static_cast<double>(chunk.m) * chunk.cols;
  const int exponent = packed_input_exponent(squares, chunk.m, chunk.cols, tables.wire);
  const double scale =
      scale_of_input(tables.scalars->input_norm, squares, elements, tables.compute, tables.scale);  // eq:prenorm_main
  const T factor = verdict_of(tally).active ? static_cast<T>(ldexp(scale, -exponent)) : T(0);
  with_element<T>(tables.wire, [&](auto element) {
    using E = decltype(element);
    // Zeros in the padding too: the copies of the products read whole 16 bytes.
    scale_rows<E, X>(rows_at(gathered + chunk.offset, chunk.cols), rows_at(chunk.x, chunk.row_stride), chunk.rows,
                     chunk.cols, chunk.row_stride, factor);
  });
}

template <class T, class X>
__global__ void __launch_bounds__(kThreads) owned_store(OwnedTables tables, std::byte* directions) {
  const OwnedChunk chunk = tables.chunks[blockIdx.x];
  const T factor = static_cast<T>(ldexp(1.0, packed_direction_exponent(chunk.m, chunk.cols, tables.wire)));
  with_element<T>(tables.wire, [&](auto element) {
    using E = decltype(element);
    scale_rows<X, E>(rows_at(chunk.o, chunk.row_stride), rows_at(directions + chunk.answer, chunk.cols), chunk.rows,
                     chunk.cols, chunk.cols, factor);
  });
}

/// Calls run(load, store) with the kernels for the iterates' type.
template <class Run>
void with_kernels(const OwnedTables& tables, Run&& run) {
  switch (tables.iterate) {
    case DType::f64: run(owned_load<double, double>, owned_store<double, double>); break;
    case DType::f32: run(owned_load<float, float>, owned_store<float, float>); break;
    case DType::f16: run(owned_load<float, __half>, owned_store<float, __half>); break;
    default: run(owned_load<float, __nv_bfloat16>, owned_store<float, __nv_bfloat16>); break;
  }
}

}  // namespace

void enqueue_owned_load(const OwnedTables& tables, const std::byte* gathered, const double* sums, cudaStream_t stream) {
  with_kernels(tables, [&](auto load, auto) {
    launch(load, static_cast<unsigned>(tables.chunk_count), kThreads, stream, tables, gathered, sums);
  });
}

void enqueue_owned_store(const OwnedTables& tables, std::byte* directions, cudaStream_t stream) {
  with_kernels(tables, [&](auto, auto store) {
    launch(store, static_cast<unsigned>(tables.chunk_count), kThreads, stream, tables, directions);
  });
}

}  // namespace trasmuon::cuda
