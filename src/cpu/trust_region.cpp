// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <span>

#include "cpu/step.h"
#include "stages/formulas.h"
#include "stages/measure.h"

namespace trasmuon::cpu {
namespace {

/// Returns the median; of an even number of values, the mean of the two middle ones. Reorders them.
double median(std::span<double> values) {
  if (has_nan(values)) return std::numeric_limits<double>::quiet_NaN();
  const auto upper = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), upper, values.end());
  return values.size() % 2 == 1 ? *upper : middle(*std::max_element(values.begin(), upper), *upper);
}

}  // namespace

template <class T>
void trust_region(const Matrix& x, const TrustRegionStage& stage, Intermediates<T>& s) {
  const std::int64_t t = *x.step;
  const std::span<const double> energy(s.column_energy, static_cast<std::size_t>(x.n));
  const std::span<double> copy(s.energy_copy, energy.size());
  std::copy(energy.begin(), energy.end(), copy.begin());
  const double e_cur = median(copy);                  // eq:ecur_quantile
  *x.e_ref = next_reference(stage, *x.e_ref, e_cur);  // eq:eref_main
  const EnergyReference reference =
      energy_reference(stage, unbiased_reference(stage, *x.e_ref, t), *std::max_element(energy.begin(), energy.end()));

  const double gamma_squared = stage.gamma * stage.gamma;
  *x.gamma_sum += gamma_squared;  // eq:sf_main
  const bool damped = is_damped(stage, x.whole_m, x.n, t);
  const bool gate_step = damped && is_gate_step(stage, t);
  T* c_ema = static_cast<T*>(x.c_ema);
  T* c_last = static_cast<T*>(x.c_last);
  for (std::int64_t j = 0; j < x.n; ++j) {
    x.c_sum[j] += gamma_squared * static_cast<double>(c_last[j]);  // eq:sf_main
    if (gate_step) {
      // eq:ratio, eq:clip_main or eq:hard_col_clip, eq:trigger_gate
      const double c_inst = instant_damping(stage, reference, s.column_energy[j]);
      c_ema[j] = next_c_ema(stage, c_ema[j], c_inst);  // eq:ema_main
    }
    const double c_avg = average_damping(stage, x.c_sum[j], *x.gamma_sum);  // eq:sf_main
    s.c[j] = c_last[j] = damping(stage, damped, c_ema[j], c_avg);           // eq:sf_main
  }
  if (x.diagnostics != nullptr) measure_ratios(stage, reference, energy, copy, *x.diagnostics);
}

template void trust_region<float>(const Matrix&, const TrustRegionStage&, Intermediates<float>&);
template void trust_region<double>(const Matrix&, const TrustRegionStage&, Intermediates<double>&);

}  // namespace trasmuon::cpu
