// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "cuda/matrices.h"

// The kernels of a step, one file each, enqueued on a stream; errors show at the next check().
namespace trasmuon::cuda {

enum class InputScale : std::uint8_t {
  keep,        ///< not orthogonalized: the momentum itself is the direction
  unit,        ///< Frobenius norm 1
  half_range,  ///< RMS kHalfRangeRms, in the middle of what f16 can hold
};
constexpr double kHalfRangeRms = 0.125;

/// What is added to the input's norm: see OrthogonalizeStage.
struct InputEps {
  double relative, absolute, cap;
};

/// A batch of matrices of one compute type, as the kernels see it.
struct StepMemory {
  const DeviceMatrix* matrices;
  MatrixStatus* status;
  const Chunk* chunks;
  const StepScalars* scalars;
  int matrix_count, chunk_count;
  DType compute;    ///< f64 or f32
  DType momentum;   ///< the same, or bf16
  DType direction;  ///< of the iteration: f64, f32, f16 or bf16
  InputScale scale;
};

/// Which matrices are stepped: those with a gradient that is finite and safe to square.
void enqueue_admit(const StepMemory& step, cudaStream_t stream);
/// The column energies of M as it will be, which matrices are stepped, and the scale of the iteration's input.
void enqueue_energies(const StepMemory& step, cudaStream_t stream);
/// M, and the input of the iteration.
void enqueue_momentum(const StepMemory& step, cudaStream_t stream);
/// c; needs the energies only.
void enqueue_trust_region(const StepMemory& step, cudaStream_t stream);
/// Partial sums of the squares of O's rows, where the last product has not left them.
void enqueue_row_squares(const StepMemory& step, cudaStream_t stream);
/// v, the factor of each row, eta^.
void enqueue_row_scale(const StepMemory& step, cudaStream_t stream);
/// W.
void enqueue_apply(const StepMemory& step, cudaStream_t stream);
void enqueue_adamw(const StepMemory& step, cudaStream_t stream);

/// A matrix to be orthogonalized outside a step, and where its result goes.
struct InOut {
  DeviceView in, out;
  double* parts;  ///< one for each kChunkRows rows: squares of `in`
};
/// X and O lie as in a Bucket.
struct InOutBatch {
  const InOut* matrices;
  int rows, cols, count;
  void *x, *o;
  std::int64_t row_stride;  ///< of X and O
  DType dtype;              ///< of X and O
};
/// X <- the inputs, scaled.
void enqueue_load(const InOutBatch& batch, const InputEps& eps, InputScale scale, cudaStream_t stream);
/// The results <- O.
void enqueue_store(const InOutBatch& batch, cudaStream_t stream);
/// Rows of `cols` elements, `stride` apart in both. What is between them need not have been written.
void enqueue_copy(void* to, const void* from, DType dtype, std::int64_t rows, int cols, std::int64_t stride,
                  cudaStream_t stream);

}  // namespace trasmuon::cuda
