// SPDX-License-Identifier: Apache-2.0
#include "cuda/passes/diagnostics.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "cuda/passes/block.cuh"
#include "cuda/passes/load.cuh"
#include "cuda/runtime/device_memory.h"
#include "cuda/runtime/launch.cuh"
#include "stages/measure.h"

namespace trasmuon::cuda {

constexpr int kSumThreads = 256;

/// sums[block] <- the sum of term(i, j)^2 over the rows of this block.
template <class Term>
__global__ void diagnostics_squares(int rows, int cols, Term term, double* sums) {
  __shared__ double per_warp[kSumThreads / 32];
  double sum = 0;
  for (int i = static_cast<int>(blockIdx.x); i < rows; i += static_cast<int>(gridDim.x)) {
    for (int j = static_cast<int>(threadIdx.x); j < cols; j += kSumThreads) {
      const double value = term(i, j);
      sum += value * value;
    }
  }
  sum = block_sum<kSumThreads>(sum, per_warp);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// The update that a pipeline subtracted from W.
template <class T, class X>
struct PipelineUpdate {
  DeviceView direction;
  const T *left, *right;  ///< null: 1
  double eta_hat;
  __device__ double operator()(int i, int j) const {
    const double along = static_cast<double>(row_step(eta_hat, left != nullptr ? left[i] : T(1)));
    const double across = right != nullptr ? static_cast<double>(right[j]) : 1.0;
    return along * (across * widen<double>(row_of<X>(direction, i)[j]));
  }
};

/// AdamW's direction, from the moments that the step left.
template <class T>
struct AdamWDirection {
  DeviceView first, second;
  AdamWScalars<T> scalars;
  __device__ double operator()(int i, int j) const {
    return static_cast<double>(adamw_direction(scalars, row_of<T>(first, i)[j], row_of<T>(second, i)[j]));
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
  constexpr int kMaxBlocks = 1024;
  const int blocks = rows < kMaxBlocks ? rows : kMaxBlocks;
  const DeviceMemory memory(static_cast<std::size_t>(blocks) * sizeof(double));
  auto* sums = memory.as<double>();
  launch(diagnostics_squares<Term>, static_cast<unsigned>(blocks), kSumThreads, nullptr, rows, cols, term, sums);
  check(cudaGetLastError(), "measuring a step");
  double sum = 0;
  for (double part : fetch(sums, static_cast<std::size_t>(blocks))) sum += part;
  return sum;
}

/// ||O O^T - I||_F / sqrt(s), where s is the short side.
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
  return std::sqrt(total_squares(side, side, GramError<T>{memory.as<const T>(), side}) / side);
}

template <class T, class X>
void measure_pipeline(const DeviceMatrix& x, const MatrixStatus& status, const StepScalars& scalars, const Blas& blas,
                      Diagnostics& d) {
  d.eta_hat = status.eta_hat;
  const T* rows = static_cast<const T*>(x.row_factor);
  const T* columns = scalars.has_trust_region ? static_cast<const T*>(x.c_last) : nullptr;
  const PipelineUpdate<T, X> update{x.direction, x.transposed ? columns : rows, x.transposed ? rows : columns,
                                    status.eta_hat};
  d.update_rms = std::sqrt(total_squares(x.rows, x.cols, update) / (static_cast<double>(x.rows) * x.cols));
  d.isometry_error = isometry_error<T>(x, blas);
  if (!scalars.has_trust_region) return;
  const auto n = static_cast<std::size_t>(x.n());
  const TrustRegionStage& stage = scalars.trust_region;
  std::vector<double> ratios = fetch(x.energy, n);
  if (stage.reference == Reference::columns) {
    const double largest = *std::max_element(ratios.begin(), ratios.end());
    const EnergyReference reference = energy_reference(stage, status.reference, largest);
    for (double& energy : ratios) energy = energy_ratio(stage, reference, energy);
  }
  measure_ratios(ratios, d);
  measure_damping<T>(fetch(columns, n), d);
}

template <class T>
void measure_adamw(const DeviceMatrix& x, const AdamWOptions& o, Diagnostics& d) {
  const AdamWDirection<T> direction{x.momentum, x.second_moment, adamw_scalars<T>(o, d.step)};
  d.eta_hat = o.lr;
  d.update_rms = o.lr * std::sqrt(total_squares(x.rows, x.cols, direction) / (static_cast<double>(x.rows) * x.cols));
}

}  // namespace

std::int64_t runs_of(const StepTables& step, int index) { return fetch(step.status + index, 1)[0].runs; }

Diagnostics measure(const StepTables& step, const DeviceMatrix& x, int index, const Blas& blas) {
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
