// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "cpu/stages.h"
#include "stages/report.h"

namespace trasmuon::cpu {
namespace {

/// Median of the energies; the mean of the two middle ones when n is even.
double median(std::vector<double>& values) {
  if (has_nan(values)) return std::numeric_limits<double>::quiet_NaN();
  const std::size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  const double lower = *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle));
  return lower + (upper - lower) / 2;
}

/// c^inst of a column of this energy.
double damping(const EnergyReference& reference, double energy) {
  if (reference.dead) return 1;
  const TrustRegionStage& stage = reference.stage;
  const double r = reference.ratio(energy);
  if (!(r > stage.trigger)) return 1;
  const double eps = stage.guarded ? stage.eps_energy : stage.eps;
  const double raw = stage.clip == Clip::soft ? 1 / (1 + stage.alpha * std::log1p(r))
                                              : std::sqrt(stage.trigger * reference.value / (energy + eps));
  return std::clamp(raw, stage.c_min, 1.0);
}

template <class T>
void damp(Matrix& x, const TrustRegionStage& stage) {
  const std::int64_t t = *x.step;
  std::vector<double> energies(x.column_energy, x.column_energy + x.n);
  *x.e_ref = stage.beta_energy * *x.e_ref + (1 - stage.beta_energy) * median(energies);
  const double bias = 1 - std::pow(stage.beta_energy, static_cast<double>(t));  // guard (b)
  const std::span<const double> energy(x.column_energy, static_cast<std::size_t>(x.n));
  const EnergyReference reference(stage, stage.guarded ? *x.e_ref / bias : *x.e_ref, energy);

  const double weight = stage.gamma * stage.gamma;
  *x.gamma_sum += weight;
  const bool damped = stage.clip != Clip::none && std::min(x.m, x.n) >= stage.min_damped_dim && t > stage.warmup;
  const bool gate_step = damped && t % stage.period == 0;
  T* c_ema = static_cast<T*>(x.c_ema);
  T* c_last = static_cast<T*>(x.c_last);
  T* c = static_cast<T*>(x.column_factor);
  for (std::int64_t j = 0; j < x.n; ++j) {
    x.c_sum[j] += weight * static_cast<double>(c_last[j]);
    // Guard (d): no eps beside a sum of squared learning rates, and c stays in its range.
    const double c_avg = !stage.guarded       ? x.c_sum[j] / (*x.gamma_sum + stage.eps)
                         : *x.gamma_sum > 0.0 ? x.c_sum[j] / *x.gamma_sum
                                              : 1.0;
    if (gate_step) {
      const double inst = damping(reference, x.column_energy[j]);
      c_ema[j] = static_cast<T>(stage.beta_clip * static_cast<double>(c_ema[j]) + (1 - stage.beta_clip) * inst);
    }
    double value = damped ? (1 - stage.rho) * static_cast<double>(c_ema[j]) + stage.rho * c_avg : 1.0;
    if (stage.guarded) value = std::clamp(value, stage.c_min, 1.0);
    c[j] = c_last[j] = static_cast<T>(value);
  }
  if (x.diagnostics != nullptr) report_ratios(reference, energy, *x.diagnostics);
}

}  // namespace

void CpuStages::trust_region(std::span<Matrix> batch, const TrustRegionStage& stage) {
  for_each_active(batch, [&]<class T>(Matrix& x) { damp<T>(x, stage); });
}

}  // namespace trasmuon::cpu
