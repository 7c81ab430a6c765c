// SPDX-License-Identifier: Apache-2.0
#include "cuda/passes/block.cuh"
#include "cuda/passes/dispatch.cuh"
#include "cuda/passes/load.cuh"
#include "cuda/passes/passes.h"
#include "stages/formulas.h"

namespace trasmuon::cuda {
namespace {

/// The bits of a non-negative double, as an integer, have the same order as the numbers.
__device__ __forceinline__ std::uint64_t key_of(double energy) {
  return static_cast<std::uint64_t>(__double_as_longlong(energy));
}

/// The value of rank `rank` (0 = smallest), by radix selection: eight bits per pass, from the highest.
__device__ __forceinline__ double select(const Block& block, const double* values, int n, int rank) {
  int* counts = block.memory.counts;
  std::uint64_t prefix = 0;
  for (int shift = 56; shift >= 0; shift -= 8) {
    for (int b = block.thread; b < 256; b += kBlockThreads) counts[b] = 0;
    block.sync();
    for (int j = block.thread; j < n; j += kBlockThreads) {
      const std::uint64_t key = key_of(values[j]);
      if (shift == 56 || key >> (shift + 8) == prefix >> (shift + 8)) atomicAdd(&counts[(key >> shift) & 255], 1);
    }
    block.sync();
    if (block.thread < 32) {
      // Each lane counts eight digits; the lane whose range holds the rank finds the digit.
      const int lane = block.thread;
      int own = 0;
      for (int b = 0; b < 8; ++b) own += counts[8 * lane + b];
      int before = own;
      for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(~0u, before, d);
        if (lane >= d) before += other;
      }
      before -= own;
      if (rank >= before && rank < before + own) {
        int digit = 8 * lane, left = rank - before;
        while (left >= counts[digit]) left -= counts[digit++];
        block.memory.key = prefix | static_cast<std::uint64_t>(digit) << shift;
        block.memory.rank = left;
      }
    }
    block.sync();
    prefix = block.memory.key;
    rank = block.memory.rank;
  }
  return __longlong_as_double(static_cast<long long>(prefix));
}

/// E_cur: a quantile of the energies, none of which is NaN.                                eq:ecur_quantile
__device__ __forceinline__ double quantile(const Block& block, const TrustRegionStage& stage, const double* energy,
                                           int n) {
  const QuantilePosition position = quantile_position(stage, n);
  const int low = static_cast<int>(position.low);
  const double lower = select(block, energy, n, low);
  if (position.share == 0) return lower;
  block.sync();
  return between(lower, select(block, energy, n, low + 1), position.share);
}

/// One block per matrix: the references, the damping of each column, and its averages.
template <class T>
__global__ void __launch_bounds__(kBlockThreads) trust_region(StepTables step) {
  __shared__ BlockMemory memory;
  const Block block(memory);
  const DeviceMatrix& x = step.matrices[blockIdx.x];
  MatrixStatus& s = step.status[blockIdx.x];
  if (s.active == 0) return;
  const TrustRegionStage& stage = step.scalars->trust_region;
  const std::int64_t t = *x.step;
  const bool history = stage.reference == Reference::history;
  const int n = x.n();
  bool has_nan = false;
  double largest = 0;
  for (int j = block.thread; j < n; j += kBlockThreads) {
    has_nan |= isnan(x.energy[j]);
    largest = fmax(largest, x.energy[j]);
  }
  largest = block.largest(largest);
  has_nan = block.any(has_nan);

  double e_ref = 0, energy_bias = 1, bias_before = 1, bias = reference_bias(stage, t);
  if (history) {
    energy_bias = history_bias(stage, t);
    bias_before = reference_bias(stage, t - 1);
    largest /= energy_bias;
  } else {
    const double e_cur = has_nan ? nan("") : quantile(block, stage, x.energy, n);
    e_ref = next_reference(stage, *x.e_ref, e_cur, t);  // eq:eref_main
  }
  double eta_hat = 0, eta_average = 0;
  if (stage.gamma_from_step) {  // else this kernel may run beside the one that writes eta^
    eta_hat = s.eta_hat;
    eta_average = next_eta_average(stage, *x.eta_average, eta_hat, t);
  }
  const double gamma_squared = step_weight(stage, eta_hat, eta_average, t);
  const double gamma_sum = *x.gamma_sum + gamma_squared;  // eq:sf_main
  block.sync();  // all threads have read the values that the first one now replaces
  EnergyReference reference = energy_reference(stage, e_ref / bias, largest);
  if (block.thread == 0) {
    if (!history) *x.e_ref = e_ref;
    if (stage.gamma_from_step) *x.eta_average = eta_average;
    *x.gamma_sum = gamma_sum;
    s.reference = reference.value;
  }
  const bool damped = is_damped(stage, x.whole_m, n, t);
  const bool gate_step = damped && is_gate_step(stage, t);
  T* c_ema = static_cast<T*>(x.c_ema);
  T* c_last = static_cast<T*>(x.c_last);
  for (int j = block.thread; j < n; j += kBlockThreads) {
    double energy = x.energy[j];
    if (history) {
      energy /= energy_bias;
      reference = history_reference(stage, x.e_ref[j], bias_before, largest);
      x.e_ref[j] = next_history(stage, reference, x.e_ref[j], energy, bias);
      x.energy[j] = energy_ratio(stage, reference, energy);  // for diagnostics: the reference is lost after this
    }
    const double c_sum = x.c_sum[j] + gamma_squared * static_cast<double>(c_last[j]);  // eq:sf_main
    x.c_sum[j] = c_sum;
    if (gate_step) {
      // eq:ratio, eq:clip_main or eq:hard_col_clip, eq:trigger_gate
      const double c_inst = instant_damping(stage, reference, energy);
      c_ema[j] = next_c_ema(stage, c_ema[j], c_inst);  // eq:ema_main
    }
    const double c_avg = average_damping(stage, c_sum, gamma_sum);  // eq:sf_main
    c_last[j] = damping(stage, damped, c_ema[j], c_avg);            // eq:sf_main
  }
}

}  // namespace

void enqueue_trust_region(const StepTables& step, cudaStream_t stream) {
  const auto kernel = step.compute == DType::f64 ? trust_region<double> : trust_region<float>;
  launch(kernel, matrix_grid(step), kBlockThreads, stream, step);
}

}  // namespace trasmuon::cuda
