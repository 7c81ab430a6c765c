// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/kernels.h"
#include "cuda/load.cuh"
#include "cuda/team.cuh"

namespace trasmuon::cuda {

/// Squares of the rows of W in the direction O: along stored rows, or across them when transposed.
template <class T, class X>
__device__ __forceinline__ void square_rows(const Team& team, const DeviceMatrix& x, const MatrixStatus& status,
                                            const Chunk& chunk) {
  if (status.active == 0) return;
  const bool aligned = aligned4<X>(x.direction);
  const int j = chunk.col + 4 * team.thread, last = chunk.row_end;
  double across[4] = {};
  for (int i = chunk.row; i < last; ++i) {
    T o[4];
    load4<T>(row_of<X>(x.direction, i), j, x.cols, aligned, o);
    double along = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const double square = static_cast<double>(o[k]) * static_cast<double>(o[k]);
      across[k] += square;
      along += square;
    }
    if (!x.transposed) team.add_row(i - chunk.row, along);
  }
  team.sync();
  if (!x.transposed) {
    double* parts = x.row_parts64 + static_cast<std::int64_t>(chunk.col / kChunkCols) * x.rows;
    for (int i = chunk.row + team.thread; i < last; i += kTeam) parts[i] = team.row_sum(i - chunk.row);
    team.sync();
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (j + k < x.cols) x.row_parts64[static_cast<std::int64_t>(chunk.row / kChunkRows) * x.cols + j + k] = across[k];
  }
}

__device__ __forceinline__ double calibrated(const StepScalars& s, double m, double n, double squares,
                                             double base_squares) {
  using Kind = CalibrateStage::Kind;
  const CalibrateStage& stage = s.calibrate;
  const double base_norm = sqrt(base_squares), aspect = sqrt(fmax(1.0, m / n));
  switch (stage.kind) {
    case Kind::rms: return s.lr * stage.scale * sqrt(m * n) / (base_norm + stage.eps);
    case Kind::keep_norm: return s.lr * aspect * sqrt(squares) / (base_norm + stage.eps);
    case Kind::original: return s.lr * aspect;
    case Kind::match_rms_adamw: return s.lr * 0.2 * sqrt(fmax(m, n));
    default: return s.lr;
  }
}

/// v, the factor of each row, eta^.
template <class T>
__device__ __forceinline__ void scale_rows(const Team& team, const DeviceMatrix& x, MatrixStatus& s,
                                           const StepScalars& scalars) {
  if (s.active == 0) return;
  const int m = x.m(), n = x.n();
  T* v_row = static_cast<T*>(x.v_row);
  T* factor = static_cast<T*>(x.row_factor);
  double base_squares = 0, squares = 0;
  for (int i = team.thread; i < m; i += kTeam) {
    double sum = 0;
    for (int part = 0; part < x.row_part_count; ++part) {
      const std::int64_t at = static_cast<std::int64_t>(part) * m + i;
      sum += x.row_parts != nullptr ? static_cast<double>(x.row_parts[at]) : x.row_parts64[at];
    }
    double f = 1;
    if (scalars.row_scale) {
      const T v = static_cast<T>(scalars.beta2 * static_cast<double>(v_row[i]) + (1 - scalars.beta2) * sum / n);
      v_row[i] = v;
      const double root = sqrt(static_cast<double>(v) + scalars.eps_inside) + scalars.eps_outside;
      f = root > 0 ? 1 / root : 0;
    }
    factor[i] = static_cast<T>(f);
    squares += sum;
    base_squares += sum * static_cast<double>(factor[i]) * static_cast<double>(factor[i]);
  }
  base_squares = team.sum(base_squares);
  squares = team.sum(squares);
  if (team.thread != 0) return;
  s.base_squares = base_squares;
  s.eta_hat = calibrated(scalars, m, n, squares, base_squares);
}

}  // namespace trasmuon::cuda
