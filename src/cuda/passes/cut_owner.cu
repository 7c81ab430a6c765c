// SPDX-License-Identifier: Apache-2.0
#include "cuda/passes/cut.h"
#include "cuda/passes/load.cuh"
#include "cuda/runtime/launch.cuh"
#include "stages/cut_step.h"

namespace trasmuon::cuda {
namespace {

constexpr int kThreads = 256;

/// One block per chunk, in both kernels.
template <class T, class X>
__global__ void __launch_bounds__(kThreads)
    owned_load(OwnedTables tables, const std::byte* gathered, const double* sums) {
  const OwnedChunk chunk = tables.chunks[blockIdx.x];
  const double squares = sums[chunk.sums + static_cast<std::size_t>(chunk.cols)];
  const double tally = sums[chunk.sums + static_cast<std::size_t>(chunk.cols) + 1];
  const double elements = static_cast<double>(chunk.m) * chunk.cols;
  const int exponent = packed_input_exponent(squares, chunk.m, chunk.cols, tables.wire);
  const bool active = verdict_of(tally).active;
  const double scale =
      scale_of_input(tables.scalars->input_norm, squares, elements, tables.compute, tables.scale);  // eq:prenorm_main
  const T factor = active ? static_cast<T>(ldexp(scale, -exponent)) : T(0);
  with_element<T>(tables.wire, [&](auto element) {
    using E = decltype(element);
    const E* rows = reinterpret_cast<const E*>(gathered + chunk.offset);
    X* x = static_cast<X*>(chunk.x);
    for (int i = 0; i < chunk.rows; ++i) {
      // Zeros in the padding too: the copies of the products read whole 16 bytes.
      for (int j = static_cast<int>(threadIdx.x); j < chunk.row_stride; j += kThreads) {
        const bool inside = active && j < chunk.cols;
        x[static_cast<std::int64_t>(i) * chunk.row_stride + j] =
            narrow<X>(inside ? factor * widen<T>(rows[static_cast<std::int64_t>(i) * chunk.cols + j]) : T(0));
      }
    }
  });
}

template <class T, class X>
__global__ void __launch_bounds__(kThreads) owned_store(OwnedTables tables, std::byte* directions) {
  const OwnedChunk chunk = tables.chunks[blockIdx.x];
  const T factor = static_cast<T>(ldexp(1.0, packed_direction_exponent(chunk.m, chunk.cols, tables.wire)));
  with_element<T>(tables.wire, [&](auto element) {
    using E = decltype(element);
    E* rows = reinterpret_cast<E*>(directions + chunk.answer);
    const X* o = static_cast<const X*>(chunk.o);
    for (int i = 0; i < chunk.rows; ++i) {
      for (int j = static_cast<int>(threadIdx.x); j < chunk.cols; j += kThreads) {
        rows[static_cast<std::int64_t>(i) * chunk.cols + j] =
            narrow<E>(factor * widen<T>(o[static_cast<std::int64_t>(i) * chunk.row_stride + j]));
      }
    }
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
