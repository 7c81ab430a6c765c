// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/passes/block.cuh"
#include "cuda/passes/load.cuh"

// What the passes over gradient and momentum have in common.
namespace trasmuon::cuda {

/// What is orthogonalized: the new M, or Nesterov's look-ahead.
template <class T>
__device__ __forceinline__ T input_of(const MomentumStage& stage, T next, T g, T beta) {
  return stage.nesterov ? lookahead(next, g, beta) : next;
}

/// Calls body(row, col, g, m) for this thread's four columns in each row of the chunk. The momentum is stored as M
/// and computed as T.
template <class T, class M, class Body>
__device__ __forceinline__ void for_each_four(const Block& block, const DeviceMatrix& x, const Chunk& chunk,
                                              Body&& body) {
  const int j = chunk.col + 4 * block.thread;
  const int last = chunk.row_end;
  with_element<T>(x.gradient.dtype, [&](auto element) {
    using G = decltype(element);
    with_bool(whole_fours<G>(x.gradient, x.cols) && whole_fours<M>(x.momentum, x.cols), [&](auto whole) {
      constexpr int kAhead = 4;  // rows loaded at once
      for (int first = chunk.row; first < last; first += kAhead) {
        T g[kAhead][4], m[kAhead][4];
        load_rows<whole.value, G>(x.gradient, first, last, j, x.cols, g);
        load_rows<whole.value, M>(x.momentum, first, last, j, x.cols, m);
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
          if (first + k < last) body(first + k, j, g[k], m[k]);
        }
      }
    });
  });
}

}  // namespace trasmuon::cuda
