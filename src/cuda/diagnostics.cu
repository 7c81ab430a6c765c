// SPDX-License-Identifier: Apache-2.0
#include "cuda/diagnostics.h"

#include <cfloat>
#include <cmath>
#include <span>
#include <vector>

#include "cuda/block_sum.cuh"
#include "cuda/device_memory.h"
#include "cuda/load.cuh"
#include "stages/report.h"

namespace trasmuon::cuda {

/// sums[block] <- the squares of term(i, j) over this block's rows.
template <class Term>
__global__ void sum_squares(int rows, int cols, Term term, double* sums) {
  __shared__ double scratch[33];
  double sum = 0;
  for (int i = static_cast<int>(blockIdx.x); i < rows; i += static_cast<int>(gridDim.x)) {
    for (int j = static_cast<int>(threadIdx.x); j < cols; j += static_cast<int>(blockDim.x)) {
      const double value = term(i, j);
      sum += value * value;
    }
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// What a pipeline subtracted from W.
template <class T, class X>
struct PipelineUpdate {
  DeviceView direction;
  const T *left, *right;  ///< null: 1
  double eta_hat;
  __device__ double operator()(int i, int j) const {
    const double most = sizeof(T) == 8 ? DBL_MAX : FLT_MAX;
    const double wanted = eta_hat * (left != nullptr ? static_cast<double>(left[i]) : 1.0);
    const double o = widen<double>(row_of<X>(direction, i)[j]);
    return static_cast<double>(static_cast<T>(fmin(wanted, most))) * o *
           (right != nullptr ? static_cast<double>(right[j]) : 1.0);
  }
};

/// AdamW's direction, from the moments that the step left.
template <class T>
struct AdamWDirection {
  DeviceView first, second;
  double correction1, root_correction2, eps;
  __device__ double operator()(int i, int j) const {
    const double m = static_cast<double>(row_of<T>(first, i)[j]), v = static_cast<double>(row_of<T>(second, i)[j]);
    return m / correction1 / (sqrt(v) / root_correction2 + eps);
  }
};

/// O O^T - I
template <class T>
struct GramError {
  const T* gram;
  int side;
  __device__ double operator()(int i, int j) const {
    return static_cast<double>(gram[static_cast<std::int64_t>(i) * side + j]) - (i == j ? 1.0 : 0.0);
  }
};

namespace {

template <class T>
std::vector<T> fetch(const T* from, std::size_t count) {
  std::vector<T> values(count);
  check(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), "reading diagnostics");
  return values;
}

template <class Term>
double total_squares(int rows, int cols, const Term& term) {
  const int blocks = rows < 1024 ? rows : 1024;
  const DeviceMemory memory(static_cast<std::size_t>(blocks) * sizeof(double));
  auto* sums = reinterpret_cast<double*>(memory.data());
  sum_squares<<<static_cast<unsigned>(blocks), 256>>>(rows, cols, term, sums);
  check(cudaGetLastError(), "measuring a step");
  double sum = 0;
  for (double part : fetch(sums, static_cast<std::size_t>(blocks))) sum += part;
  return sum;
}

/// ||O O^T - I||_F / sqrt(s) on the short side.
template <class T>
double isometry_error(const DeviceMatrix& x, const Blas& blas) {
  const bool wide = x.rows <= x.cols;
  const int side = wide ? x.rows : x.cols, depth = wide ? x.cols : x.rows;
  const DeviceMemory memory(std::size_t(side) * side * sizeof(T));
  const BlasMatrices stored{x.direction.data, x.direction.dtype, x.direction.row_stride, 0};
  const BlasMatrices o = wide ? stored : stored.transpose();
  blas.use(nullptr);
  blas.multiply(
      {.m = side, .n = side, .k = depth, .a = o, .b = o.transpose(), .c = {memory.data(), dtype_of<T>(), side, 0}});
  return std::sqrt(total_squares(side, side, GramError<T>{reinterpret_cast<const T*>(memory.data()), side}) / side);
}

template <class T, class X>
void measure_pipeline(const DeviceMatrix& x, const MatrixStatus& status, const StepScalars& scalars, const Blas& blas,
                      Diagnostics& d) {
  d.eta_hat = status.eta_hat;
  const T* rows = static_cast<const T*>(x.row_factor);
  const T* columns = scalars.trust ? static_cast<const T*>(x.c_last) : nullptr;
  const PipelineUpdate<T, X> update{x.direction, x.transposed ? columns : rows, x.transposed ? rows : columns,
                                    status.eta_hat};
  d.update_rms = std::sqrt(total_squares(x.rows, x.cols, update) / (static_cast<double>(x.rows) * x.cols));
  d.isometry_error = isometry_error<T>(x, blas);
  if (!scalars.trust) return;
  const auto n = static_cast<std::size_t>(x.n());
  const std::vector<double> energies = fetch(x.energy, n);
  report_ratios({scalars.trust_region, status.reference, energies}, energies, d);
  report_damping<T>(fetch(columns, n), d);
}

template <class T>
void measure_adamw(const DeviceMatrix& x, const AdamWOptions& o, Diagnostics& d) {
  const double t = static_cast<double>(d.step);
  const AdamWDirection<T> direction{x.momentum, x.second_moment, 1 - std::pow(o.beta1, t),
                                    std::sqrt(1 - std::pow(o.beta2, t)), o.eps};
  d.eta_hat = o.lr;
  d.update_rms = o.lr * std::sqrt(total_squares(x.rows, x.cols, direction) / (static_cast<double>(x.rows) * x.cols));
}

}  // namespace

std::int64_t runs_of(const StepMemory& step, int index) { return fetch(step.status + index, 1)[0].runs; }

Diagnostics measure(const StepMemory& step, const DeviceMatrix& x, int index, const Blas& blas) {
  const MatrixStatus status = fetch(step.status + index, 1)[0];
  const StepScalars scalars = fetch(step.scalars, 1)[0];
  Diagnostics d{.step = fetch(x.step, 1)[0], .skipped = fetch(x.skipped, 1)[0]};
  d.updated = status.active != 0;
  if (!d.updated) return d;
  if (x.second_moment.data != nullptr) {
    if (step.compute == DType::f64) measure_adamw<double>(x, scalars.adamw, d);
    else measure_adamw<float>(x, scalars.adamw, d);
    return d;
  }
  switch (step.direction) {
    case DType::f64: measure_pipeline<double, double>(x, status, scalars, blas, d); break;
    case DType::f32: measure_pipeline<float, float>(x, status, scalars, blas, d); break;
    case DType::f16: measure_pipeline<float, __half>(x, status, scalars, blas, d); break;
    default: measure_pipeline<float, __nv_bfloat16>(x, status, scalars, blas, d); break;
  }
  return d;
}

}  // namespace trasmuon::cuda
