// SPDX-License-Identifier: Apache-2.0
#include "cuda/passes/block.cuh"
#include "cuda/passes/dispatch.cuh"
#include "cuda/passes/load.cuh"
#include "cuda/passes/passes.h"
#include "stages/elementwise.h"

namespace trasmuon::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(kBlockThreads)
    admit_check(const DeviceMatrix* matrices, MatrixStatus* status, const Chunk* chunks) {
  const Chunk chunk = chunks[blockIdx.x];
  const DeviceMatrix& x = matrices[chunk.matrix];
  if (x.gradient.data == nullptr) return;
  const int j = chunk.col + 4 * static_cast<int>(threadIdx.x);
  bool usable = true;
  with_element<T>(x.gradient.dtype, [&](auto element) {
    using G = decltype(element);
    with_bool(whole_fours<G>(x.gradient, x.cols), [&](auto whole) {
      constexpr int kAhead = 4;  // rows loaded at once
      for (int first = chunk.row; first < chunk.row_end; first += kAhead) {
        T g[kAhead][4];
        load_rows<whole.value, G>(x.gradient, first, chunk.row_end, j, x.cols, g);
#pragma unroll
        for (int k = 0; k < 4 * kAhead; ++k) usable &= usable_gradient(g[k / 4][k % 4]);
      }
    });
  });
  if (__syncthreads_or(!usable) && threadIdx.x == 0) atomicOr(&status[chunk.matrix].unusable, 1);
}

/// One thread per matrix.
__global__ void admit_decide(const DeviceMatrix* matrices, MatrixStatus* status, int count) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index >= count) return;
  const DeviceMatrix& x = matrices[index];
  MatrixStatus& s = status[index];
  const bool has_gradient = x.gradient.data != nullptr, refused = has_gradient && s.unusable != 0;
  s.unusable = 0;
  ++s.runs;
  s.active = has_gradient && !refused;
  if (refused) ++*x.skipped;
  if (s.active != 0) ++*x.step;
}

}  // namespace

void enqueue_admit_check(const StepTables& step, cudaStream_t stream) {
  const auto check = step.compute == DType::f64 ? admit_check<double> : admit_check<float>;
  launch(check, static_cast<unsigned>(step.chunk_count), kBlockThreads, stream, step.matrices, step.status,
         step.chunks);
}

void enqueue_admit(const StepTables& step, cudaStream_t stream) {
  enqueue_admit_check(step, stream);
  launch(admit_decide, many_matrices_grid(step), kManyMatricesThreads, stream, step.matrices, step.status,
         step.matrix_count);
}

}  // namespace trasmuon::cuda
