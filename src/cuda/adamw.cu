// SPDX-License-Identifier: Apache-2.0
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
    const bool aligned = aligned4<G>(x.gradient);
#pragma unroll 4
    for (int i = chunk.row; i < min(chunk.row + kChunkRows, x.rows); ++i) {
      T g[4];
      load4<T>(row_of<G>(x.gradient, i), j, x.cols, aligned, g);
#pragma unroll
      for (int k = 0; k < 4; ++k) usable &= abs(g[k]) <= largest;
    }
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
        store4<T>(row_of<T>(x.momentum, i), j, x.cols, aligned_s, m);
        store4<T>(row_of<T>(x.second_moment, i), j, x.cols, aligned_s, v);
        store4<T>(row_of<W>(x.weight, i), j, x.cols, aligned_w, w);
        store_rounded<T>(x.rounded, i, j, x.cols, w);
      }
    });
  });
}

}  // namespace

void enqueue_adamw(const StepMemory& step, cudaStream_t stream) {
  const auto chunks = static_cast<unsigned>(step.chunk_count), matrices = static_cast<unsigned>(step.matrix_count);
  const auto run = [&](auto find, auto write) {
    find<<<chunks, kThreads, 0, stream>>>(step.matrices, step.status, step.chunks);
    decide<<<(matrices + 127) / 128, 128, 0, stream>>>(step.matrices, step.status, step.matrix_count);
    write<<<chunks, kThreads, 0, stream>>>(step.matrices, step.status, step.chunks, step.scalars);
  };
  if (step.compute == DType::f64) run(find_unusable<double>, update<double>);
  else run(find_unusable<float>, update<float>);
}

}  // namespace trasmuon::cuda
