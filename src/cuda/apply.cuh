// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfloat>

#include "cuda/kernels.h"
#include "cuda/load.cuh"
#include "cuda/team.cuh"

namespace trasmuon::cuda {

/// W
template <class T, class X>
__device__ __forceinline__ void apply_chunk(const Team& team, const DeviceMatrix& x, const MatrixStatus& status,
                                            const Chunk& chunk, const StepScalars& scalars) {
  if (status.active == 0) return;
  const T* rows = static_cast<const T*>(x.row_factor);
  const T* columns = scalars.trust ? static_cast<const T*>(x.c_last) : nullptr;
  // In the storage's orientation the update is left_i * O_ij * right_j.
  const T* left = x.transposed ? columns : rows;
  const T* right = x.transposed ? rows : columns;
  const T decay = static_cast<T>(scalars.decay);
  const double eta_hat = status.eta_hat;
  const double most = sizeof(T) == 8 ? DBL_MAX : FLT_MAX;
  const int j = chunk.col + 4 * team.thread, last = chunk.row_end;
  T across[4] = {1, 1, 1, 1};
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (right != nullptr && j + k < x.cols) across[k] = right[j + k];
  }
  with_element<T>(x.weight.dtype, [&](auto element) {
    using W = decltype(element);
    const bool aligned_w = aligned4<W>(x.weight);
    with_bool(whole_fours<X>(x.direction, x.cols) && whole_fours<W>(x.weight, x.cols), [&](auto whole) {
      constexpr int kAhead = 4;  // rows under way at once
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
          // eta^ of a direction that is zero may be beyond T; times zero it must still be zero.
          const T scale = static_cast<T>(fmin(eta_hat * static_cast<double>(factor[a]), most));
#pragma unroll
          for (int k = 0; k < 4; ++k) w[a][k] = decay * w[a][k] - scale * o[a][k] * across[k];
          store4(row_of<W>(x.weight, i), j, x.cols, aligned_w, w[a]);
          store_rounded<T>(x.rounded, i, j, x.cols, w[a]);
        }
      }
    });
  });
}

}  // namespace trasmuon::cuda
