// SPDX-License-Identifier: Apache-2.0
#include "cuda/passes/block.cuh"
#include "cuda/passes/dispatch.cuh"
#include "cuda/passes/load.cuh"
#include "cuda/passes/passes.h"
#include "stages/formulas.h"

namespace trasmuon::cuda {
namespace {

template <class T, class X>
__global__ void __launch_bounds__(kBlockThreads) apply(StepTables step) {
  __shared__ BlockMemory memory;
  const Block block(memory);
  const Chunk chunk = step.chunks[blockIdx.x];
  const DeviceMatrix& x = step.matrices[chunk.matrix];
  const MatrixStatus& status = step.status[chunk.matrix];
  const StepScalars& scalars = *step.scalars;
  if (status.active == 0) return;
  const T* rows = static_cast<const T*>(x.row_factor);
  const T* columns = scalars.has_trust_region ? static_cast<const T*>(x.c_last) : nullptr;
  // In stored coordinates the update is left_i * O_ij * right_j.
  const T* left = x.transposed ? columns : rows;
  const T* right = x.transposed ? rows : columns;
  const T decay = static_cast<T>(scalars.decay);
  const double eta_hat = status.eta_hat;
  const int j = chunk.col + 4 * block.thread, last = chunk.row_end;
  T across[4] = {1, 1, 1, 1};
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (right != nullptr && j + k < x.cols) across[k] = right[j + k];
  }
  with_element<T>(x.weight.dtype, [&](auto element) {
    using W = decltype(element);
    const bool aligned_w = aligned4<W>(x.weight);
    with_bool(whole_fours<X>(x.direction, x.cols) && whole_fours<W>(x.weight, x.cols), [&](auto whole) {
      constexpr int kAhead = 4;  // rows loaded at once
      for (int first = chunk.row; first < last; first += kAhead) {
        T o[kAhead][4], w[kAhead][4], factor[kAhead];
        load_rows<whole.value, X>(x.direction, first, last, j, x.cols, o);
        load_rows<whole.value, W>(x.weight, first, last, j, x.cols, w);
#pragma unroll
        for (int a = 0; a < kAhead; ++a) factor[a] = left != nullptr ? left[min(first + a, last - 1)] : T(1);
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
          const int i = first + a;
          if (i >= last) break;
          const T along = row_step(eta_hat, factor[a]);
          // eq:trasmuon_update_main
#pragma unroll
          for (int k = 0; k < 4; ++k) w[a][k] = next_weight(w[a][k], decay, along, across[k], o[a][k]);
          store4(row_of<W>(x.weight, i), j, x.cols, aligned_w, w[a]);
          store_rounded<T>(x.rounded, i, j, x.cols, w[a]);
        }
      }
    });
  });
}

}  // namespace

void enqueue_apply(const StepTables& step, cudaStream_t stream) {
  with_types(step, [&]<class T, class X>(Type<T>, Type<X>) {
    launch(apply<T, X>, chunk_grid(step), kBlockThreads, stream, step);
  });
}

}  // namespace trasmuon::cuda
