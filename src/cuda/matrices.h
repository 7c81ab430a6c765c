// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "stages/stages.h"
#include "trasmuon/tensor.h"

// What the kernels know of a step: plain structs in device memory. Pointers and scalars can be
// replaced there without launching anything else, so a recorded graph stays valid.
namespace trasmuon::cuda {

/// Data in device memory, rows x cols as stored.
struct DeviceView {
  void* data;
  std::int64_t row_stride;
  DType dtype;
  bool operator==(const DeviceView&) const = default;
};

/// One matrix. W is m x n; `transposed`: it and all like it are stored n x m. T is its compute type.
struct DeviceMatrix {
  int rows, cols;  ///< as stored
  bool transposed;
  DeviceView weight, rounded, gradient, momentum;  ///< null data: none
  void *v_row, *c_ema, *c_last;                    ///< T
  double *c_sum, *e_ref, *gamma_sum;
  DeviceView second_moment;
  std::int64_t *step, *skipped;

  // Scratch of the step.
  DeviceView input;      ///< of the iteration
  DeviceView direction;  ///< O; may be the input's memory
  double* column_parts;  ///< [parts][n]: partial sums of the column energies
  double* energy;        ///< n
  double* input_parts;   ///< one per chunk: squares of the look-ahead
  float* row_parts;      ///< [parts][m] f32: squares of O's rows; null: row_parts64
  double* row_parts64;   ///< the same in f64
  void* row_factor;      ///< m of T
  int column_part_count, row_part_count, chunk_count;

  bool operator==(const DeviceMatrix&) const = default;
  __host__ __device__ int m() const { return transposed ? cols : rows; }
  __host__ __device__ int n() const { return transposed ? rows : cols; }
};

/// What the kernels tell each other about a matrix.
struct MatrixStatus {
  int unusable;        ///< the gradient has NaN, Inf or huge entries; reset by the reader
  int active;          ///< this matrix is stepped
  std::int64_t runs;   ///< steps it has been in, active or not: tells whether diagnostics are of the last
  double input_scale;  ///< what the momentum is multiplied by on its way into the iteration
  double reference;    ///< E_ref as the gate used it
  double base_squares;
  double eta_hat;
};

/// Every scalar of a step.
struct StepScalars {
  double lr, decay;
  bool skip_nonfinite;
  double beta1;
  bool nesterov;
  double eps_relative, eps_absolute, eps_cap;  ///< of the input's norm
  bool row_scale;
  double beta2, eps_inside, eps_outside;
  CalibrateStage calibrate;
  bool trust;
  TrustRegionStage trust_region;
  double feedback;  ///< mu of Dion
  AdamWOptions adamw;
};

/// Part of a matrix that one block of threads passes over: kChunkRows x kChunkCols, or less.
struct Chunk {
  int matrix, row, row_end, col, index;  ///< index within the matrix
};
constexpr int kChunkRows = 64, kChunkCols = 1024;

}  // namespace trasmuon::cuda
