// SPDX-License-Identifier: Apache-2.0
//
// M must not be written before the whole gradient is known to be finite, and the input of the iteration is scaled by
// the norm of the whole matrix. So one pass reads, a small kernel decides, and a second pass writes.
#include "cuda/passes/block.cuh"
#include "cuda/passes/dispatch.cuh"
#include "cuda/passes/input_scale.h"
#include "cuda/passes/load.cuh"
#include "cuda/passes/momentum_rows.cuh"
#include "cuda/passes/passes.h"

namespace trasmuon::cuda {
namespace {

// Blocks that a multiprocessor holds at once: enough loads under way to keep the memory busy.
template <class T>
constexpr int kResidentBlocks = sizeof(T) == 4 ? 4 : 2;

/// Column energies of the new M, and whether the gradient can be used.
template <class T, class M>
__global__ void __launch_bounds__(kBlockThreads, kResidentBlocks<T>) momentum_read(StepTables step) {
  __shared__ BlockMemory memory;
  const Block block(memory);
  const Chunk chunk = step.chunks[blockIdx.x];
  const DeviceMatrix& x = step.matrices[chunk.matrix];
  if (x.gradient.data == nullptr) return;
  const MomentumStage momentum = step.scalars->momentum;
  const T beta = static_cast<T>(momentum.beta);
  const bool transposed = x.transposed;
  bool usable = true;
  double energy[4] = {}, input = 0;  // in double: squares of gradients below 1e-19 vanish in f32
  with_bool(transposed, [&](auto along_rows) {
    for_each_four<T, M>(block, x, chunk, [&](int i, int, const T(&g)[4], const T(&m)[4]) {
      double row = 0;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const T next = next_momentum(m[k], g[k], beta);
        const double square = static_cast<double>(next) * static_cast<double>(next);  // eq:col_energy
        usable &= usable_gradient(g[k]);
        if constexpr (along_rows.value) row += square;
        else energy[k] += square;
        if (momentum.nesterov) {
          const double u = static_cast<double>(input_of(momentum, next, g[k], beta));
          input += u * u;
        }
      }
      if constexpr (along_rows.value) block.add_row(i - chunk.row, row);
    });
  });
  if (block.any(!usable) && block.thread == 0) atomicOr(&step.status[chunk.matrix].unusable, 1);
  if (momentum.nesterov) {
    input = block.sum(input);
    if (block.thread == 0) x.input_parts[chunk.index] = input;
  }
  if (transposed) {
    double* parts = x.column_parts + static_cast<std::int64_t>(chunk.col / kChunkCols) * x.rows;
    for (int i = chunk.row + block.thread; i < chunk.row_end; i += kBlockThreads)
      parts[i] = block.row_sum(i - chunk.row);
    block.sync();
  } else {
    const int j = chunk.col + 4 * block.thread;
    double* parts = x.column_parts + static_cast<std::int64_t>(chunk.row / kChunkRows) * x.cols;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (j + k < x.cols) parts[j + k] = energy[k];
    }
  }
}

/// One block per matrix: adds up the energies, decides whether the matrix is stepped, and scales the input.
__global__ void __launch_bounds__(kBlockThreads) momentum_decide(StepTables step) {
  __shared__ BlockMemory memory;
  const Block block(memory);
  const DeviceMatrix& x = step.matrices[blockIdx.x];
  MatrixStatus& s = step.status[blockIdx.x];
  const StepScalars& scalars = *step.scalars;
  const int n = x.n();
  const bool has_gradient = x.gradient.data != nullptr;
  const bool refused = has_gradient && s.unusable != 0 && scalars.skip_nonfinite;
  double squares = 0;
  if (has_gradient && !refused) {
    for (int j = block.thread; j < n; j += kBlockThreads) {
      double sum = 0;
      for (int part = 0; part < x.column_part_count; ++part)
        sum += x.column_parts[static_cast<std::int64_t>(part) * n + j];
      x.energy[j] = sum;
      squares += sum;
    }
    if (scalars.momentum.nesterov) {
      squares = 0;
      for (int c = block.thread; c < x.chunk_count; c += kBlockThreads) squares += x.input_parts[c];
    }
  }
  squares = block.sum(squares);
  if (block.thread != 0) return;
  s.unusable = 0;
  ++s.runs;
  s.active = has_gradient && !refused;
  if (refused) ++*x.skipped;
  if (!s.active) return;
  ++*x.step;
  s.input_scale = scale_of_input(scalars.input_norm, squares, static_cast<double>(x.rows) * x.cols, step.compute,
                                 step.scale);  // eq:prenorm_main
}

/// M, and the input of the iteration as X.
template <class T, class M, class X>
__global__ void __launch_bounds__(kBlockThreads, kResidentBlocks<T>) momentum_write(StepTables step) {
  __shared__ BlockMemory memory;
  const Block block(memory);
  const Chunk chunk = step.chunks[blockIdx.x];
  const DeviceMatrix& x = step.matrices[chunk.matrix];
  const MatrixStatus& status = step.status[chunk.matrix];
  const bool aligned_x = aligned4<X>(x.input);
  // Zeros in the padding too: the copies of the products read whole 16 bytes, and initcheck reports what was never
  // written.
  const int with_padding = static_cast<int>(x.input.row_stride);
  if (status.active == 0) {
    const T zero[4] = {};
    for (int i = chunk.row; i < chunk.row_end; ++i)
      store4(row_of<X>(x.input, i), chunk.col + 4 * block.thread, with_padding, aligned_x, zero);
    return;
  }
  const MomentumStage momentum = step.scalars->momentum;
  const T beta = static_cast<T>(momentum.beta);
  const T scale = static_cast<T>(status.input_scale);
  const bool aligned_m = aligned4<M>(x.momentum);
  for_each_four<T, M>(block, x, chunk, [&](int i, int j, const T(&g)[4], const T(&m)[4]) {
    T next[4], input[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      next[k] = next_momentum(m[k], g[k], beta);  // eq:momentum_main
      input[k] = scale * input_of(momentum, next[k], g[k], beta);
    }
    store4(row_of<M>(x.momentum, i), j, x.cols, aligned_m, next);
    store4(row_of<X>(x.input, i), j, with_padding, aligned_x, input);
  });
}

}  // namespace

void enqueue_momentum_parts(const StepTables& step, cudaStream_t stream) {
  with_momentum_types(step, [&]<class T, class M, class X>(Type<T>, Type<M>, Type<X>) {
    launch(momentum_read<T, M>, chunk_grid(step), kBlockThreads, stream, step);
  });
}

void enqueue_momentum_read(const StepTables& step, cudaStream_t stream) {
  enqueue_momentum_parts(step, stream);
  launch(momentum_decide, matrix_grid(step), kBlockThreads, stream, step);
}

void enqueue_momentum_write(const StepTables& step, cudaStream_t stream) {
  with_momentum_types(step, [&]<class T, class M, class X>(Type<T>, Type<M>, Type<X>) {
    launch(momentum_write<T, M, X>, chunk_grid(step), kBlockThreads, stream, step);
  });
}

}  // namespace trasmuon::cuda
