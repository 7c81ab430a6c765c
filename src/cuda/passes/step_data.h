// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/passes/input_scale.h"
#include "stages/plan.h"
#include "trasmuon/tensor.h"

// What the kernels of a step read: plain structs in device memory. A recorded graph stays valid when pointers and
// scalars in them are replaced, because its kernels only hold the addresses of these structs.
namespace trasmuon::cuda {

/// A matrix in device memory: element (i, j) is data[i * row_stride + j].
struct DeviceView {
  void* data;
  std::int64_t row_stride;
  DType dtype;
  bool operator==(const DeviceView&) const = default;
};

/// One matrix to be stepped. W is m x n; with `transposed` it is stored n x m, and so are its gradient, momentum,
/// input and direction. T below is the compute type.
struct DeviceMatrix {
  int rows, cols;  ///< as stored
  bool transposed;
  std::int64_t whole_m;                            ///< m, or more where other ranks have rows of the same matrix
  DeviceView weight, rounded, gradient, momentum;  ///< null data: the matrix has none
  void *v_row, *c_ema, *c_last;                    ///< T
  double *c_sum, *e_ref, *gamma_sum, *eta_average;
  DeviceView second_moment;
  std::int64_t *step, *skipped;

  // Scratch of the step.
  DeviceView input;      ///< of the Newton-Schulz iteration
  DeviceView direction;  ///< O; may share the input's memory
  double* column_parts;  ///< [column_part_count][n]: partial sums of the column energies
  double* energy;        ///< [n]: E_j; after a step that compares columns with their past, r_j
  double* input_parts;   ///< [chunk_count]: partial sums of squares of the input, with Nesterov momentum only
  float* row_parts;      ///< [row_part_count][m]: partial sums of squares of O's rows; null: use row_parts64
  double* row_parts64;   ///< the same in f64
  void* row_factor;      ///< [m] of T: what each row of O is multiplied by; null: 1
  int column_part_count, row_part_count, chunk_count;

  bool operator==(const DeviceMatrix&) const = default;
  __host__ __device__ int m() const { return transposed ? cols : rows; }
  __host__ __device__ int n() const { return transposed ? rows : cols; }
};

/// What the kernels of a step pass on to each other about a matrix.
struct MatrixStatus {
  int unusable;        ///< set if the gradient has NaN, Inf or huge entries; cleared by the kernel that reads it
  int active;          ///< this matrix is stepped
  std::int64_t runs;   ///< number of steps so far, active or not: tells whether diagnostics are up to date
  double input_scale;  ///< factor from the momentum to the input of the iteration
  double reference;    ///< E_ref as the trust region used it, if there is one for all columns
  double base_squares;
  double eta_hat;
};

/// The numbers of a plan, as the kernels read them. Which kernels run is decided on the host.
struct StepScalars {
  double lr, decay;
  bool skip_nonfinite;
  MomentumStage momentum;
  InputNorm input_norm;
  bool has_row_scale;
  RowScaleStage row_scale;
  CalibrateStage calibrate;
  bool has_trust_region;
  TrustRegionStage trust_region;
  double dion_momentum;  ///< mu
  AdamWOptions adamw;
};

/// The part of a matrix that one block of threads works on: at most kChunkRows x kChunkCols.
struct Chunk {
  int matrix, row, row_end, col, index;  ///< index: number of the chunk within its matrix
};
constexpr int kChunkRows = 64, kChunkCols = 1024;

/// The tables of one batch of matrices and what its kernels are compiled for: the argument of the passes.
struct StepTables {
  const DeviceMatrix* matrices;
  MatrixStatus* status;
  const Chunk* chunks;
  const StepScalars* scalars;
  int matrix_count, chunk_count;
  DType compute;    ///< f64 or f32
  DType momentum;   ///< the compute type, or bf16
  DType direction;  ///< type of input and direction: f64, f32, f16 or bf16
  InputScale scale;
};

}  // namespace trasmuon::cuda
