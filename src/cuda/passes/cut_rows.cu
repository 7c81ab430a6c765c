// SPDX-License-Identifier: Apache-2.0
#include "cuda/passes/block.cuh"
#include "cuda/passes/cut.h"
#include "cuda/passes/dispatch.cuh"
#include "cuda/passes/load.cuh"
#include "cuda/passes/momentum_rows.cuh"
#include "stages/cut_step.h"
#include "stages/formulas.h"

namespace trasmuon::cuda {
namespace {

/// One block per matrix.
__global__ void __launch_bounds__(kBlockThreads) cut_sums(CutTables tables) {
  __shared__ BlockMemory memory;
  const Block block(memory);
  const DeviceMatrix& x = tables.step.matrices[blockIdx.x];
  MatrixStatus& s = tables.step.status[blockIdx.x];
  double* sums = tables.cut[blockIdx.x].sums;
  const StepScalars& scalars = *tables.step.scalars;
  const int n = x.cols;
  const bool present = x.rows > 0 && x.gradient.data != nullptr;
  const bool refused = present && s.unusable != 0 && scalars.skip_nonfinite;
  double squares = 0;
  for (int j = block.thread; j < n; j += kBlockThreads) {
    double sum = 0;
    for (int part = 0; part < x.column_part_count && present && !refused; ++part)
      sum += x.column_parts[static_cast<std::int64_t>(part) * n + j];
    sums[j] = sum;  // eq:col_energy
    squares += sum;
  }
  if (scalars.momentum.nesterov) {
    squares = 0;
    for (int c = block.thread; c < x.chunk_count && present && !refused; c += kBlockThreads)
      squares += x.input_parts[c];
  }
  squares = block.sum(squares);
  if (block.thread != 0) return;
  s.unusable = 0;
  s.active = present && !refused;  // for the energies of the gradient; cut_admit decides for all ranks
  sums[n] = squares;
  sums[n + 1] = tally_of(x.rows > 0, x.gradient.data != nullptr, refused);
}

/// One thread per matrix.
__global__ void cut_admit(CutTables tables) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index >= tables.step.matrix_count) return;
  const DeviceMatrix& x = tables.step.matrices[index];
  const double* sums = tables.cut[index].sums;
  const DType wire = tables.cut[index].wire;
  MatrixStatus& s = tables.step.status[index];
  s.active = verdict_of(sums[x.cols + 1]).active;
  s.input_scale = s.active != 0 ? ldexp(1.0, packed_input_exponent(sums[x.cols], x.whole_m, x.cols, wire)) : 0;
}

template <class T, class M, class X>
__global__ void __launch_bounds__(kBlockThreads) cut_pack(CutTables tables) {
  __shared__ BlockMemory memory;
  const Block block(memory);
  const Chunk chunk = tables.step.chunks[blockIdx.x];
  const DeviceMatrix& x = tables.step.matrices[chunk.matrix];
  const MatrixStatus& status = tables.step.status[chunk.matrix];
  const bool aligned = aligned4<X>(x.input);
  if (status.active == 0) {
    const T zero[4] = {};
    for (int i = chunk.row; i < chunk.row_end; ++i)
      store4(row_of<X>(x.input, i), chunk.col + 4 * block.thread, x.cols, aligned, zero);
    return;
  }
  const MomentumStage momentum = tables.step.scalars->momentum;
  const T beta = static_cast<T>(momentum.beta), scale = static_cast<T>(status.input_scale);
  for_each_four<T, M>(block, x, chunk, [&](int i, int j, const T(&g)[4], const T(&m)[4]) {
    T input[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
      input[k] = scale * input_of(momentum, next_momentum(m[k], g[k], beta), g[k], beta);  // eq:momentum_main
    store4(row_of<X>(x.input, i), j, x.cols, aligned, input);
  });
}

/// One block per matrix.
template <class T>
__global__ void __launch_bounds__(kBlockThreads) cut_row_scale(CutTables tables) {
  __shared__ BlockMemory memory;
  const Block block(memory);
  const DeviceMatrix& x = tables.step.matrices[blockIdx.x];
  const CutDeviceMatrix& c = tables.cut[blockIdx.x];
  const StepScalars& scalars = *tables.step.scalars;
  const T* v = static_cast<const T*>(x.v_row);
  T *v_next = static_cast<T*>(c.v_next), *factor = static_cast<T*>(x.row_factor);
  // Rows that were not sent to an owner were not scaled either.
  const int exponent = tables.step.scale == InputScale::keep ? 0 : packed_direction_exponent(x.whole_m, x.cols, c.wire);
  const double from_packed = ldexp(1.0, -exponent);
  if (scalars.has_trust_region && scalars.trust_region.energy_of == EnergyOf::direction) {
    for (int j = block.thread; j < x.cols; j += kBlockThreads) c.norms[kNorms + j] = 0;  // until they are computed
  }
  double base = 0, squares = 0;
  if (tables.step.status[blockIdx.x].active != 0) {
    for (int i = block.thread; i < x.rows; i += kBlockThreads) {
      double sum = 0;
      for (int part = 0; part < x.row_part_count; ++part)
        sum += x.row_parts64[static_cast<std::int64_t>(part) * x.rows + i];
      sum *= from_packed * from_packed;
      T f = 1;
      if (scalars.has_row_scale) {
        v_next[i] = next_row_moment(scalars.row_scale, v[i], sum, x.cols);  // eq:rowscale_main
        f = row_factor(scalars.row_scale, v_next[i]);                       // eq:rowscale_main1
      }
      factor[i] = f * static_cast<T>(from_packed);
      squares += sum;
      base += base_squares(sum, f);
    }
  }
  base = block.sum(base);
  squares = block.sum(squares);
  if (block.thread != 0) return;
  c.norms[0] = base;
  c.norms[1] = squares;
}

/// One block per matrix: counters, eta^ and v.
template <class T>
__global__ void __launch_bounds__(kBlockThreads) cut_commit(CutTables tables) {
  const DeviceMatrix& x = tables.step.matrices[blockIdx.x];
  const CutDeviceMatrix& c = tables.cut[blockIdx.x];
  MatrixStatus& s = tables.step.status[blockIdx.x];
  const StepScalars& scalars = *tables.step.scalars;
  const bool active = s.active != 0;
  if (active && scalars.has_row_scale) {
    for (int i = static_cast<int>(threadIdx.x); i < x.rows; i += kBlockThreads)
      static_cast<T*>(x.v_row)[i] = static_cast<const T*>(c.v_next)[i];
  }
  if (threadIdx.x != 0) return;
  ++s.runs;
  if (verdict_of(c.sums[x.cols + 1]).refused) ++*x.skipped;
  if (!active) return;
  ++*x.step;
  s.base_squares = c.norms[0];
  s.eta_hat =
      calibrated_step(scalars.calibrate, scalars.lr, x.whole_m, x.cols, c.norms[1], c.norms[0]);  // eq:tr_cal_main
}

template <class T, class M>
__global__ void __launch_bounds__(kBlockThreads) cut_momentum(CutTables tables) {
  __shared__ BlockMemory memory;
  const Block block(memory);
  const Chunk chunk = tables.step.chunks[blockIdx.x];
  const DeviceMatrix& x = tables.step.matrices[chunk.matrix];
  if (tables.step.status[chunk.matrix].active == 0) return;
  const T beta = static_cast<T>(tables.step.scalars->momentum.beta);
  const bool aligned = aligned4<M>(x.momentum);
  for_each_four<T, M>(block, x, chunk, [&](int i, int j, const T(&g)[4], const T(&m)[4]) {
    T next[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) next[k] = next_momentum(m[k], g[k], beta);  // eq:momentum_main
    store4(row_of<M>(x.momentum, i), j, x.cols, aligned, next);
  });
}

}  // namespace

void enqueue_cut_sums(const CutTables& tables, cudaStream_t stream) {
  launch(cut_sums, matrix_grid(tables.step), kBlockThreads, stream, tables);
}

void enqueue_cut_pack(const CutTables& tables, cudaStream_t stream) {
  launch(cut_admit, many_matrices_grid(tables.step), kManyMatricesThreads, stream, tables);
  if (tables.step.chunk_count == 0) return;
  with_momentum_types(tables.step, [&]<class T, class M, class X>(Type<T>, Type<M>, Type<X>) {
    launch(cut_pack<T, M, X>, chunk_grid(tables.step), kBlockThreads, stream, tables);
  });
}

void enqueue_cut_row_scale(const CutTables& tables, cudaStream_t stream) {
  const auto kernel = tables.step.compute == DType::f64 ? cut_row_scale<double> : cut_row_scale<float>;
  launch(kernel, matrix_grid(tables.step), kBlockThreads, stream, tables);
}

void enqueue_cut_commit(const CutTables& tables, cudaStream_t stream) {
  const auto kernel = tables.step.compute == DType::f64 ? cut_commit<double> : cut_commit<float>;
  launch(kernel, matrix_grid(tables.step), kBlockThreads, stream, tables);
  if (tables.step.chunk_count == 0) return;
  with_momentum_types(tables.step, [&]<class T, class M, class X>(Type<T>, Type<M>, Type<X>) {
    launch(cut_momentum<T, M>, chunk_grid(tables.step), kBlockThreads, stream, tables);
  });
}

}  // namespace trasmuon::cuda
