// SPDX-License-Identifier: Apache-2.0
#include "cuda/passes/block.cuh"
#include "cuda/passes/load.cuh"
#include "cuda/passes/passes.h"
#include "cuda/runtime/launch.cuh"
#include "stages/formulas.h"

namespace trasmuon::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(kBlockThreads)
    adamw(const DeviceMatrix* matrices, const MatrixStatus* status, const Chunk* chunks, const StepScalars* scalars) {
  const Chunk chunk = chunks[blockIdx.x];
  const DeviceMatrix& x = matrices[chunk.matrix];
  if (status[chunk.matrix].active == 0) return;
  const AdamWOptions& o = scalars->adamw;
  const AdamWScalars<T> s = adamw_scalars<T>(o, *x.step);
  const T lr = static_cast<T>(o.lr), decay = static_cast<T>(decay_of(o.lr, o.weight_decay));
  const int j = chunk.col + 4 * static_cast<int>(threadIdx.x);
  with_element<T>(x.gradient.dtype, [&](auto gradient_element) {
    with_element<T>(x.weight.dtype, [&](auto weight_element) {
      using G = decltype(gradient_element);
      using W = decltype(weight_element);
      const bool aligned_w = aligned4<W>(x.weight);
      const bool aligned_s = aligned4<T>(x.momentum) && aligned4<T>(x.second_moment);
      const bool all_whole = whole_fours<G>(x.gradient, x.cols) && whole_fours<W>(x.weight, x.cols) &&
                             whole_fours<T>(x.momentum, x.cols) && whole_fours<T>(x.second_moment, x.cols);
      with_bool(all_whole, [&](auto whole) {
        constexpr int kAhead = 2;  // rows loaded at once
        for (int first = chunk.row; first < chunk.row_end; first += kAhead) {
          T g[kAhead][4], m[kAhead][4], v[kAhead][4], w[kAhead][4];
          load_rows<whole.value, G>(x.gradient, first, chunk.row_end, j, x.cols, g);
          load_rows<whole.value, T>(x.momentum, first, chunk.row_end, j, x.cols, m);
          load_rows<whole.value, T>(x.second_moment, first, chunk.row_end, j, x.cols, v);
          load_rows<whole.value, W>(x.weight, first, chunk.row_end, j, x.cols, w);
#pragma unroll
          for (int a = 0; a < kAhead; ++a) {
            const int i = first + a;
            if (i >= chunk.row_end) break;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
              next_adamw_moments(s, g[a][k], m[a][k], v[a][k]);
              w[a][k] = next_weight(w[a][k], decay, lr, T(1), adamw_direction(s, m[a][k], v[a][k]));
            }
            store4(row_of<T>(x.momentum, i), j, x.cols, aligned_s, m[a]);
            store4(row_of<T>(x.second_moment, i), j, x.cols, aligned_s, v[a]);
            store4(row_of<W>(x.weight, i), j, x.cols, aligned_w, w[a]);
            store_rounded<T>(x.rounded, i, j, x.cols, w[a]);
          }
        }
      });
    });
  });
}

}  // namespace

void enqueue_adamw(const StepTables& step, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? adamw<double> : adamw<float>;
  launch(kernel, static_cast<unsigned>(step.chunk_count), kBlockThreads, stream, step.matrices, step.status,
         step.chunks, step.scalars);
}

}  // namespace trasmuon::cuda
