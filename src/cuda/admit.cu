// SPDX-License-Identifier: Apache-2.0
//
// For rules that look at the gradient before they use it; the pipeline decides in its own first pass.
#include "cuda/kernels.h"
#include "cuda/load.cuh"

namespace trasmuon::cuda {
namespace {

constexpr int kThreads = kChunkCols / 4;

template <class T>
__global__ void __launch_bounds__(kThreads)
    find_unusable(const DeviceMatrix* matrices, MatrixStatus* status, const Chunk* chunks) {
  const Chunk chunk = chunks[blockIdx.x];
  const DeviceMatrix& x = matrices[chunk.matrix];
  if (x.gradient.data == nullptr) return;
  const T largest = sizeof(T) == 8 ? static_cast<T>(1e150) : static_cast<T>(1e18);
  const int j = chunk.col + 4 * static_cast<int>(threadIdx.x);
  bool usable = true;
  with_element<T>(x.gradient.dtype, [&](auto element) {
    using G = decltype(element);
    with_bool(whole_fours<G>(x.gradient, x.cols), [&](auto whole) {
      constexpr int kAhead = 4;  // rows under way at once
      for (int first = chunk.row; first < chunk.row_end; first += kAhead) {
        T g[kAhead][4];
        load_rows<whole.value, G>(x.gradient, first, chunk.row_end, j, x.cols, g);
#pragma unroll
        for (int k = 0; k < 4 * kAhead; ++k) usable &= abs(g[k / 4][k % 4]) <= largest;
      }
    });
  });
  if (__syncthreads_or(!usable) && threadIdx.x == 0) atomicOr(&status[chunk.matrix].unusable, 1);
}

__global__ void decide(const DeviceMatrix* matrices, MatrixStatus* status, int count) {
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

void enqueue_admit(const StepMemory& step, cudaStream_t stream) {
  const auto find = step.compute == DType::f64 ? find_unusable<double> : find_unusable<float>;
  const auto chunks = static_cast<unsigned>(step.chunk_count), matrices = static_cast<unsigned>(step.matrix_count);
  find<<<chunks, kThreads, 0, stream>>>(step.matrices, step.status, step.chunks);
  decide<<<(matrices + 127) / 128, 128, 0, stream>>>(step.matrices, step.status, step.matrix_count);
}

}  // namespace trasmuon::cuda
