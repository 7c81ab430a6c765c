// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "cuda/passes/step_data.h"
#include "cuda/runtime/launch.cuh"

// From the types in StepTables to kernels compiled for them, and how many blocks to launch.
namespace trasmuon::cuda {

template <class T>
struct Type {
  using type = T;
};

/// Calls body(T, X): the compute type and the type of input and direction.
template <class Body>
void with_types(const StepTables& step, Body&& body) {
  switch (step.direction) {
    case DType::f64: body(Type<double>{}, Type<double>{}); break;
    case DType::f32: body(Type<float>{}, Type<float>{}); break;
    case DType::f16: body(Type<float>{}, Type<__half>{}); break;
    default: body(Type<float>{}, Type<__nv_bfloat16>{}); break;
  }
}

/// Calls body(T, M, X), where M is the type of the momentum.
template <class Body>
void with_momentum_types(const StepTables& step, Body&& body) {
  with_types(step, [&]<class T, class X>(Type<T> compute, Type<X> direction) {
    if constexpr (std::is_same_v<T, float>) {
      if (step.momentum == DType::bf16) {
        body(compute, Type<__nv_bfloat16>{}, direction);
        return;
      }
    }
    body(compute, compute, direction);
  });
}

/// Grids of one block per chunk, and of one block per matrix.
inline dim3 chunk_grid(const StepTables& step) { return static_cast<unsigned>(step.chunk_count); }
inline dim3 matrix_grid(const StepTables& step) { return static_cast<unsigned>(step.matrix_count); }

constexpr unsigned kManyMatricesThreads = 128;  // of a block in which each thread has a matrix
/// Grid of one thread per matrix.
inline dim3 many_matrices_grid(const StepTables& step) {
  return (static_cast<unsigned>(step.matrix_count) + kManyMatricesThreads - 1) / kManyMatricesThreads;
}

}  // namespace trasmuon::cuda
