// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels.h"
#include "cuda/load.cuh"

namespace trasmuon::cuda {
namespace {

constexpr int kThreads = kChunkCols / 4;

template <class T>
__global__ void __launch_bounds__(kThreads)
    update(const DeviceMatrix* matrices, const MatrixStatus* status, const Chunk* chunks, const StepScalars* scalars) {
  const Chunk chunk = chunks[blockIdx.x];
  const DeviceMatrix& x = matrices[chunk.matrix];
  if (status[chunk.matrix].active == 0) return;
  const AdamWOptions& o = scalars->adamw;
  const double t = static_cast<double>(*x.step);
  const T beta1 = static_cast<T>(o.beta1), beta2 = static_cast<T>(o.beta2);
  const T step_size = static_cast<T>(o.lr / (1 - pow(o.beta1, t)));
  const T root_correction = static_cast<T>(sqrt(1 - pow(o.beta2, t)));
  const T eps = static_cast<T>(o.eps), decay = static_cast<T>(1 - o.lr * o.weight_decay);
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
        constexpr int kAhead = 2;  // rows under way at once
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
              m[a][k] = beta1 * m[a][k] + (1 - beta1) * g[a][k];
              v[a][k] = beta2 * v[a][k] + (1 - beta2) * g[a][k] * g[a][k];
              w[a][k] = decay * w[a][k] - step_size * m[a][k] / (sqrt(v[a][k]) / root_correction + eps);
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

void enqueue_adamw(const StepMemory& step, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? update<double> : update<float>;
  enqueue_admit(step, stream);
  kernel<<<static_cast<unsigned>(step.chunk_count), kThreads, 0, stream>>>(step.matrices, step.status, step.chunks,
                                                                           step.scalars);
}

}  // namespace trasmuon::cuda
