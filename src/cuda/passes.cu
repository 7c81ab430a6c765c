// SPDX-License-Identifier: Apache-2.0
//
// The kernels of a step, a team a block.
#include "cuda/apply.cuh"
#include "cuda/momentum.cuh"
#include "cuda/row_scale.cuh"
#include "cuda/trust_region.cuh"

namespace trasmuon::cuda {
namespace {

template <class T, class M>
__global__ void __launch_bounds__(kTeam) read_pass(StepMemory step) {
  __shared__ TeamMemory memory;
  const Chunk chunk = step.chunks[blockIdx.x];
  read_chunk<T, M>(Team(memory), step.matrices[chunk.matrix], step.status[chunk.matrix], chunk, *step.scalars);
}

__global__ void __launch_bounds__(kTeam) decide_all(StepMemory step) {
  __shared__ TeamMemory memory;
  decide(Team(memory), step.matrices[blockIdx.x], step.status[blockIdx.x], *step.scalars, step.scale);
}

template <class T, class M, class X>
__global__ void __launch_bounds__(kTeam) write_pass(StepMemory step) {
  __shared__ TeamMemory memory;
  const Chunk chunk = step.chunks[blockIdx.x];
  write_chunk<T, M, X>(Team(memory), step.matrices[chunk.matrix], step.status[chunk.matrix], chunk, *step.scalars);
}

template <class T>
__global__ void __launch_bounds__(kTeam) damp_all(StepMemory step) {
  __shared__ TeamMemory memory;
  damp<T>(Team(memory), step.matrices[blockIdx.x], step.status[blockIdx.x], *step.scalars);
}

template <class T, class X>
__global__ void __launch_bounds__(kTeam) square_pass(StepMemory step) {
  __shared__ TeamMemory memory;
  const Chunk chunk = step.chunks[blockIdx.x];
  square_rows<T, X>(Team(memory), step.matrices[chunk.matrix], step.status[chunk.matrix], chunk);
}

template <class T>
__global__ void __launch_bounds__(kTeam) scale_all(StepMemory step) {
  __shared__ TeamMemory memory;
  scale_rows<T>(Team(memory), step.matrices[blockIdx.x], step.status[blockIdx.x], *step.scalars);
}

template <class T, class X>
__global__ void __launch_bounds__(kTeam) apply_pass(StepMemory step) {
  __shared__ TeamMemory memory;
  const Chunk chunk = step.chunks[blockIdx.x];
  apply_chunk<T, X>(Team(memory), step.matrices[chunk.matrix], step.status[chunk.matrix], chunk, *step.scalars);
}

template <class T>
struct Type {
  using type = T;
};

/// body(T, X): the compute type, and the type of the iteration.
template <class Body>
void with_types(const StepMemory& step, Body&& body) {
  switch (step.direction) {
    case DType::f64: body(Type<double>{}, Type<double>{}); break;
    case DType::f32: body(Type<float>{}, Type<float>{}); break;
    case DType::f16: body(Type<float>{}, Type<__half>{}); break;
    default: body(Type<float>{}, Type<__nv_bfloat16>{}); break;
  }
}

/// body(T, M, X), M being the type of the momentum.
template <class Body>
void with_momentum(const StepMemory& step, Body&& body) {
  with_types(step, [&]<class T, class X>(Type<T> compute, Type<X> iteration) {
    if constexpr (std::is_same_v<T, float>) {
      if (step.momentum == DType::bf16) {
        body(compute, Type<__nv_bfloat16>{}, iteration);
        return;
      }
    }
    body(compute, compute, iteration);
  });
}

unsigned chunks_of(const StepMemory& step) { return static_cast<unsigned>(step.chunk_count); }
unsigned matrices_of(const StepMemory& step) { return static_cast<unsigned>(step.matrix_count); }

}  // namespace

void enqueue_energies(const StepMemory& step, cudaStream_t stream) {
  with_momentum(step, [&]<class T, class M, class X>(Type<T>, Type<M>, Type<X>) {
    read_pass<T, M><<<chunks_of(step), kTeam, 0, stream>>>(step);
  });
  decide_all<<<matrices_of(step), kTeam, 0, stream>>>(step);
}

void enqueue_momentum(const StepMemory& step, cudaStream_t stream) {
  with_momentum(step, [&]<class T, class M, class X>(Type<T>, Type<M>, Type<X>) {
    write_pass<T, M, X><<<chunks_of(step), kTeam, 0, stream>>>(step);
  });
}

void enqueue_trust_region(const StepMemory& step, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? damp_all<double> : damp_all<float>;
  kernel<<<matrices_of(step), kTeam, 0, stream>>>(step);
}

void enqueue_row_squares(const StepMemory& step, cudaStream_t stream) {
  with_types(step, [&]<class T, class X>(Type<T>, Type<X>) {
    square_pass<T, X><<<chunks_of(step), kTeam, 0, stream>>>(step);
  });
}

void enqueue_row_scale(const StepMemory& step, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? scale_all<double> : scale_all<float>;
  kernel<<<matrices_of(step), kTeam, 0, stream>>>(step);
}

void enqueue_apply(const StepMemory& step, cudaStream_t stream) {
  with_types(
      step, [&]<class T, class X>(Type<T>, Type<X>) { apply_pass<T, X><<<chunks_of(step), kTeam, 0, stream>>>(step); });
}

}  // namespace trasmuon::cuda
