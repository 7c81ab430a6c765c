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
      const bool aligned_g = aligned4<G>(x.gradient), aligned_w = aligned4<W>(x.weight);
      const bool aligned_s = aligned4<T>(x.momentum) && aligned4<T>(x.second_moment);
      for (int i = chunk.row; i < min(chunk.row + kChunkRows, x.rows); ++i) {
        T g[4], m[4], v[4], w[4];
        load4<T>(row_of<G>(x.gradient, i), j, x.cols, aligned_g, g);
        load4<T>(row_of<T>(x.momentum, i), j, x.cols, aligned_s, m);
        load4<T>(row_of<T>(x.second_moment, i), j, x.cols, aligned_s, v);
        load4<T>(row_of<W>(x.weight, i), j, x.cols, aligned_w, w);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          m[k] = beta1 * m[k] + (1 - beta1) * g[k];
          v[k] = beta2 * v[k] + (1 - beta2) * g[k] * g[k];
          w[k] = decay * w[k] - step_size * m[k] / (sqrt(v[k]) / root_correction + eps);
        }
        store4(row_of<T>(x.momentum, i), j, x.cols, aligned_s, m);
        store4(row_of<T>(x.second_moment, i), j, x.cols, aligned_s, v);
        store4(row_of<W>(x.weight, i), j, x.cols, aligned_w, w);
        store_rounded<T>(x.rounded, i, j, x.cols, w);
      }
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
