// SPDX-License-Identifier: Apache-2.0
#include "cuda/passes/cut_dion.h"

#include "cuda/passes/block.cuh"
#include "cuda/passes/dispatch.cuh"
#include "cuda/passes/load.cuh"
#include "stages/cut_step.h"
#include "stages/formulas.h"

namespace trasmuon::cuda {
namespace {

constexpr int kThreads = 256;

/// One thread per matrix, in the next two.
__global__ void cut_dion_tally(StepTables step, const CutDionMatrix* cut, double* sums) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index >= step.matrix_count) return;
  const DeviceMatrix& x = step.matrices[index];
  MatrixStatus& s = step.status[index];
  sums[cut[index].tally] = tally_of(x.rows > 0, x.gradient.data != nullptr, s.unusable != 0);
  s.unusable = 0;
}

__global__ void cut_dion_admit(StepTables step, const CutDionMatrix* cut, const double* sums) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index < step.matrix_count) step.status[index].active = verdict_of(sums[cut[index].tally]).active;
}

template <class T>
__global__ void __launch_bounds__(kBlockThreads)
    cut_dion_pack(StepTables step, const CutDionMatrix* cut, std::byte* rows) {
  const Chunk chunk = step.chunks[blockIdx.x];
  const DeviceMatrix& x = step.matrices[chunk.matrix];
  const DeviceView packed{rows + cut[chunk.matrix].packed, x.cols, step.compute};
  const bool active = step.status[chunk.matrix].active != 0;
  const bool aligned_m = aligned4<T>(x.momentum), aligned_b = aligned4<T>(packed);
  const int j = chunk.col + 4 * static_cast<int>(threadIdx.x);
  with_element<T>(x.gradient.dtype, [&](auto element) {
    using G = decltype(element);
    const bool aligned_g = aligned4<G>(x.gradient);
    for (int i = chunk.row; i < chunk.row_end; ++i) {
      T b[4] = {};
      if (active) {
        T g[4];
        load4<T>(row_of<G>(x.gradient, i), j, x.cols, aligned_g, g);
        load4<T>(row_of<T>(x.momentum, i), j, x.cols, aligned_m, b);
#pragma unroll
        for (int k = 0; k < 4; ++k) b[k] += g[k];
      }
      store4(row_of<T>(packed, i), j, x.cols, aligned_b, b);
    }
  });
}

/// One block per DionRows, in both kernels.
template <class T>
__global__ void __launch_bounds__(kThreads)
    cut_dion_gather(StepTables step, const DionMatrix* dion, OwnedDion owned, const std::byte* gathered) {
  __shared__ double per_warp[kThreads / 32];
  const DionRows part = owned.rows[blockIdx.x];
  const DionMatrix& d = dion[part.matrix];
  const bool active = step.status[part.matrix].active != 0;
  const T* packed = reinterpret_cast<const T*>(gathered + part.gathered);
  double squares = 0;
  for (int i = 0; i < part.count; ++i) {
    T* b = row_of<T>(d.sum, part.first + i);
    for (int j = static_cast<int>(threadIdx.x); j < d.n; j += kThreads) {
      const T value = active ? packed[static_cast<std::int64_t>(i) * d.n + j] : T(0);
      squares += static_cast<double>(value) * static_cast<double>(value);
      b[j] = value;
    }
  }
  squares = block_sum<kThreads>(squares, per_warp);
  if (threadIdx.x == 0) step.matrices[part.matrix].input_parts[part.index] = squares;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    cut_dion_answer_rows(const DionMatrix* dion, OwnedDion owned, std::byte* directions) {
  const DionRows part = owned.rows[blockIdx.x];
  const DionMatrix& d = dion[part.matrix];
  const T* p = static_cast<const T*>(d.p) + part.first;
  T* packed = reinterpret_cast<T*>(directions + part.answer);
  for (int at = static_cast<int>(threadIdx.x); at < part.count * d.rank; at += kThreads)
    packed[at] = p[static_cast<std::int64_t>(at % d.rank) * d.p_stride + at / d.rank];
}

/// One block per row of R^T (y) of a rank's answer (x).
template <class T>
__global__ void __launch_bounds__(kThreads)
    cut_dion_answer_r(const DionMatrix* dion, OwnedDion owned, std::byte* directions) {
  const DionAnswer answer = owned.answers[blockIdx.x];
  const DionMatrix& d = dion[answer.matrix];
  const int k = static_cast<int>(blockIdx.y);
  if (k >= d.rank) return;
  const T* r = static_cast<const T*>(d.r) + static_cast<std::int64_t>(k) * d.r_stride;
  T* packed = reinterpret_cast<T*>(directions + answer.r) + static_cast<std::int64_t>(k) * d.n;
  for (int j = static_cast<int>(threadIdx.x); j < d.n; j += kThreads) packed[j] = r[j];
}

/// One block per column of P and row of R^T (y) of a matrix (x).
template <class T>
__global__ void __launch_bounds__(kThreads)
    cut_dion_unpack(const CutDionMatrix* cut, const DionMatrix* dion, const std::byte* returned) {
  const DionMatrix& d = dion[blockIdx.x];
  const int k = static_cast<int>(blockIdx.y);
  if (k >= d.rank) return;
  const T* packed_p = reinterpret_cast<const T*>(returned + cut[blockIdx.x].returned);
  const T* packed_r = packed_p + static_cast<std::int64_t>(d.m) * d.rank + static_cast<std::int64_t>(k) * d.n;
  T* p = static_cast<T*>(d.p) + static_cast<std::int64_t>(k) * d.p_stride;
  T* r = static_cast<T*>(d.r) + static_cast<std::int64_t>(k) * d.r_stride;
  for (int i = static_cast<int>(threadIdx.x); i < d.m; i += kThreads)
    p[i] = packed_p[static_cast<std::int64_t>(i) * d.rank + k];
  for (int j = static_cast<int>(threadIdx.x); j < d.n; j += kThreads) r[j] = packed_r[j];
}

/// One thread per matrix.
__global__ void cut_dion_count(StepTables step, const CutDionMatrix* cut, const double* sums) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index >= step.matrix_count) return;
  const DeviceMatrix& x = step.matrices[index];
  MatrixStatus& s = step.status[index];
  ++s.runs;
  if (verdict_of(sums[cut[index].tally]).refused) ++*x.skipped;
  if (s.active == 0) return;
  ++*x.step;
  s.eta_hat = dion_step(step.scalars->lr, x.whole_m, x.cols);
}

}  // namespace

void enqueue_cut_dion_tally(const StepTables& step, const CutDionMatrix* cut, double* sums, cudaStream_t stream) {
  launch(cut_dion_tally, many_matrices_grid(step), kManyMatricesThreads, stream, step, cut, sums);
}

void enqueue_cut_dion_admit(const StepTables& step, const CutDionMatrix* cut, const double* sums, cudaStream_t stream) {
  launch(cut_dion_admit, many_matrices_grid(step), kManyMatricesThreads, stream, step, cut, sums);
}

void enqueue_cut_dion_pack(const StepTables& step, const CutDionMatrix* cut, std::byte* rows, cudaStream_t stream) {
  if (step.chunk_count == 0) return;
  const auto kernel = step.compute == DType::f64 ? cut_dion_pack<double> : cut_dion_pack<float>;
  launch(kernel, chunk_grid(step), kBlockThreads, stream, step, cut, rows);
}

void enqueue_cut_dion_gather(const StepTables& step, const DionMatrix* dion, const OwnedDion& owned,
                             const std::byte* gathered, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? cut_dion_gather<double> : cut_dion_gather<float>;
  launch(kernel, static_cast<unsigned>(owned.row_count), kThreads, stream, step, dion, owned, gathered);
}

void enqueue_cut_dion_answer(const StepTables& step, const DionMatrix* dion, const OwnedDion& owned, int max_rank,
                             std::byte* directions, cudaStream_t stream) {
  const bool wide = step.compute == DType::f64;
  launch(wide ? cut_dion_answer_rows<double> : cut_dion_answer_rows<float>, static_cast<unsigned>(owned.row_count),
         kThreads, stream, dion, owned, directions);
  const dim3 grid(static_cast<unsigned>(owned.answer_count), static_cast<unsigned>(max_rank));
  launch(wide ? cut_dion_answer_r<double> : cut_dion_answer_r<float>, grid, kThreads, stream, dion, owned, directions);
}

void enqueue_cut_dion_commit(const StepTables& step, const CutDionMatrix* cut, const DionMatrix* dion, int max_rank,
                             const double* sums, const std::byte* returned, cudaStream_t stream) {
  launch(cut_dion_count, many_matrices_grid(step), kManyMatricesThreads, stream, step, cut, sums);
  const auto unpack = step.compute == DType::f64 ? cut_dion_unpack<double> : cut_dion_unpack<float>;
  const dim3 grid(static_cast<unsigned>(step.matrix_count), static_cast<unsigned>(max_rank));
  launch(unpack, grid, kThreads, stream, cut, dion, returned);
}

}  // namespace trasmuon::cuda
