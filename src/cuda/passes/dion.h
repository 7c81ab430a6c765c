// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "cuda/passes/step_data.h"

// The kernels of Dion; the products between them are cuBLAS calls (cuda/dion_step.cpp).
namespace trasmuon::cuda {

/// What Dion keeps for a matrix in addition to its DeviceMatrix, all in the compute type. P, Q and R are the paper's; P
/// and R are stored transposed.
struct DionMatrix {
  DeviceView sum;    ///< B = M + G, stored like the weight; holds the new M at the end of the step
  void* basis;       ///< Q in the optimizer's state: n x rank
  void *q, *p, *r;   ///< copy of Q; P^T, rank x m; R^T, rank x n, with rows of unit length in the end
  void* scaled_r;    ///< (mu - 1) R^T
  void* components;  ///< of the rows that are made orthogonal now, along the rows before: kDionBlock x rank
  double* norms;     ///< [rank]: of the rows of P^T before they got unit length
  double* errors;    ///< [rank]: size of the rounding errors in each row, first of (B Q)^T, then of P^T
  int rank, m, n;
  int p_stride, r_stride;
};

/// Computes B. Matrices that are not stepped get zeros, so that P = R = 0.
void enqueue_dion_add_gradient(const StepTables& step, const DionMatrix* matrices, cudaStream_t stream);
/// Copies Q next to those of the same shape, and sets the step size.
void enqueue_dion_load_basis(const StepTables& step, const DionMatrix* matrices, cudaStream_t stream);
/// Scales the rows of P^T to unit length; sets norms and errors.
void enqueue_dion_unit_rows(const StepTables& step, const DionMatrix* matrices, int max_rank, cudaStream_t stream);

constexpr int kDionBlock = 32;
/// Makes P^T's rows [first, first + kDionBlock) orthonormal; a row that depends on earlier ones becomes zero. They must
/// have had unit length and be orthogonal to the rows before them, by `components`.
void enqueue_dion_orthonormalize(const StepTables& step, const DionMatrix* matrices, int first, cudaStream_t stream);
/// Writes (mu - 1) R^T, then scales R^T's rows to unit length and copies them to the state's Q.
void enqueue_dion_basis(const StepTables& step, const DionMatrix* matrices, int max_rank, cudaStream_t stream);
/// M <- B.
void enqueue_dion_momentum(const StepTables& step, const DionMatrix* matrices, cudaStream_t stream);

}  // namespace trasmuon::cuda
