// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "cuda/passes/step_data.h"

// The passes of a step, one .cu file per stage. Each enqueues its kernels on a stream for all matrices of a batch;
// errors show at the next check().
namespace trasmuon::cuda {

/// Decides which matrices are stepped: those whose gradient is finite and safe to square. For Dion and AdamW; the
/// pipeline does this in enqueue_momentum_read.
void enqueue_admit(const StepTables& step, cudaStream_t stream);
/// The first half of enqueue_admit: whether gradients are unusable.
void enqueue_admit_check(const StepTables& step, cudaStream_t stream);
/// Reads gradient and momentum and computes, without writing M: the new M's column energies, which matrices are
/// stepped, and the scale of the iteration's input.
void enqueue_momentum_read(const StepTables& step, cudaStream_t stream);
/// The first half of enqueue_momentum_read: partial sums of energies and norm, and whether the gradient is unusable.
void enqueue_momentum_parts(const StepTables& step, cudaStream_t stream);
/// Writes M and the scaled input of the iteration.
void enqueue_momentum_write(const StepTables& step, cudaStream_t stream);
/// Replaces the energies of the momentum by those of the gradient.
void enqueue_gradient_energy(const StepTables& step, cudaStream_t stream);
/// Replaces them by those of O_base; needs the factors of the rows.
void enqueue_direction_energy(const StepTables& step, cudaStream_t stream);
/// Computes the damping c of the columns. Needs only the column energies, and eta^ if gamma is taken from it.
void enqueue_trust_region(const StepTables& step, cudaStream_t stream);
/// Computes partial sums of squares of O's rows, for matrices whose last product has not computed them.
void enqueue_row_scale_squares(const StepTables& step, cudaStream_t stream);
/// Computes v, the factor of each row, and from these the calibrated learning rate eta^.
void enqueue_row_scale(const StepTables& step, cudaStream_t stream);
/// Updates W.
void enqueue_apply(const StepTables& step, cudaStream_t stream);
/// Updates AdamW's moments and W.
void enqueue_adamw(const StepTables& step, cudaStream_t stream);

}  // namespace trasmuon::cuda
