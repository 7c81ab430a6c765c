// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/kernels.h"
#include "cuda/load.cuh"
#include "cuda/team.cuh"

namespace trasmuon::cuda {

/// The energies' bits order like the energies themselves: they are not negative.
__device__ __forceinline__ std::uint64_t key_of(double energy) {
  return static_cast<std::uint64_t>(__double_as_longlong(energy));
}

/// The value of rank `rank` (0 = smallest), eight bits a pass from the top.
__device__ __forceinline__ double select(const Team& team, const double* values, int n, int rank) {
  int* counts = team.memory.counts;
  std::uint64_t prefix = 0;
  for (int shift = 56; shift >= 0; shift -= 8) {
    for (int b = team.thread; b < 256; b += kTeam) counts[b] = 0;
    team.sync();
    for (int j = team.thread; j < n; j += kTeam) {
      const std::uint64_t key = key_of(values[j]);
      if (shift == 56 || key >> (shift + 8) == prefix >> (shift + 8)) atomicAdd(&counts[(key >> shift) & 255], 1);
    }
    team.sync();
    if (team.thread < 32) {
      // Each lane owns eight digits; the lane that holds the rank finds its digit.
      const int lane = team.thread;
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
        team.memory.key = prefix | static_cast<std::uint64_t>(digit) << shift;
        team.memory.rank = left;
      }
    }
    team.sync();
    prefix = team.memory.key;
    rank = team.memory.rank;
  }
  return __longlong_as_double(static_cast<long long>(prefix));
}

/// r_j and c^inst_j of one column, given the reference it is measured against.
struct Gate {
  const TrustRegionStage& stage;
  double reference;
  bool dead;

  __device__ double damping(double energy) const {
    if (dead) return 1;
    const double r = stage.guarded ? energy / reference : energy / (reference + stage.eps);
    if (!(r > stage.trigger)) return 1;
    const double eps = stage.guarded ? stage.eps_energy : stage.eps;
    const double raw =
        stage.clip == Clip::soft ? 1 / (1 + stage.alpha * log1p(r)) : sqrt(stage.trigger * reference / (energy + eps));
    return fmin(fmax(raw, stage.c_min), 1.0);
  }
};

/// c
template <class T>
__device__ __forceinline__ void damp(const Team& team, const DeviceMatrix& x, MatrixStatus& s,
                                     const StepScalars& scalars) {
  if (s.active == 0) return;
  const TrustRegionStage& stage = scalars.trust_region;
  const int n = x.n();
  bool has_nan = false;
  double largest = 0;
  for (int j = team.thread; j < n; j += kTeam) {
    has_nan |= isnan(x.energy[j]);
    largest = fmax(largest, x.energy[j]);
  }
  largest = team.largest(largest);
  double median = nan("");
  if (!team.any(has_nan)) {
    median = select(team, x.energy, n, n / 2);
    if (n % 2 == 0) {
      team.sync();
      const double lower = select(team, x.energy, n, n / 2 - 1);
      median = lower + (median - lower) / 2;
    }
  }

  const std::int64_t t = *x.step;
  const double e_ref = stage.beta_energy * *x.e_ref + (1 - stage.beta_energy) * median;
  const double gamma_squared = stage.gamma * stage.gamma, gamma_sum = *x.gamma_sum + gamma_squared;
  team.sync();  // all have read what the first thread now replaces
  const double reference = stage.guarded ? e_ref / (1 - pow(stage.beta_energy, static_cast<double>(t))) : e_ref;
  if (team.thread == 0) {
    *x.e_ref = e_ref;
    *x.gamma_sum = gamma_sum;
    s.reference = reference;
  }
  const Gate gate{stage, reference, stage.guarded && !(reference > stage.eps_energy * largest)};
  const bool damped = stage.clip != Clip::none && min(x.rows, x.cols) >= stage.min_damped_dim && t > stage.warmup;
  const bool gate_step = damped && t % stage.period == 0;
  T* c_ema = static_cast<T*>(x.c_ema);
  T* c_last = static_cast<T*>(x.c_last);
  for (int j = team.thread; j < n; j += kTeam) {
    const double c_sum = x.c_sum[j] + gamma_squared * static_cast<double>(c_last[j]);
    x.c_sum[j] = c_sum;
    const double c_avg = !stage.guarded ? c_sum / (gamma_sum + stage.eps) : gamma_sum > 0 ? c_sum / gamma_sum : 1.0;
    if (gate_step) {
      c_ema[j] = static_cast<T>(stage.beta_clip * static_cast<double>(c_ema[j]) +
                                (1 - stage.beta_clip) * gate.damping(x.energy[j]));
    }
    double value = damped ? (1 - stage.rho) * static_cast<double>(c_ema[j]) + stage.rho * c_avg : 1.0;
    if (stage.guarded) value = fmin(fmax(value, stage.c_min), 1.0);
    c_last[j] = static_cast<T>(value);
  }
}

}  // namespace trasmuon::cuda
