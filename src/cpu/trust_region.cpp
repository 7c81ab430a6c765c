// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <span>

#include "cpu/step.h"
#include "stages/formulas.h"
#include "stages/measure.h"

namespace trasmuon::cpu {
namespace {

/// Returns a quantile of the values. Reorders them.
double quantile(const TrustRegionStage& stage, std::span<double> values) {
  if (has_nan(values)) return std::numeric_limits<double>::quiet_NaN();
  const auto [low, share] = quantile_position(stage, static_cast<std::int64_t>(values.size()));
  const auto lower = values.begin() + static_cast<std::ptrdiff_t>(low);
  std::nth_element(values.begin(), lower, values.end());
  return share == 0 ? *lower : between(*lower, *std::min_element(lower + 1, values.end()), share);
}

/// The references of the columns: one of all, or one of each.
class References {
 public:
  /// `scratch`: memory for n numbers. Updates E_ref, if it is one of all columns.
  References(const Matrix& x, const TrustRegionStage& stage, std::span<double> energy, std::span<double> scratch)
      : stage_(stage), history_(stage.reference == Reference::history), averages_(x.e_ref), energy_(energy) {
    const std::int64_t t = *x.step;
    if (history_) {
      const double bias = history_bias(stage, t);
      for (double& e : energy) e /= bias;
      bias_before_ = reference_bias(stage, t - 1);
      bias_ = reference_bias(stage, t);
    }
    largest_ = *std::max_element(energy.begin(), energy.end());
    if (history_) return;
    std::copy(energy.begin(), energy.end(), scratch.begin());
    const double e_cur = quantile(stage, scratch);         // eq:ecur_quantile
    *x.e_ref = next_reference(stage, *x.e_ref, e_cur, t);  // eq:eref_main
    of_all_ = energy_reference(stage, *x.e_ref / reference_bias(stage, t), largest_);
  }

  /// Returns the reference of column j. With histories, this step enters the column's: call once per column.
  EnergyReference take(std::size_t j) {
    if (!history_) return of_all_;
    const EnergyReference before = history_reference(stage_, averages_[j], bias_before_, largest_);
    averages_[j] = next_history(stage_, before, averages_[j], energy_[j], bias_);
    return before;
  }

 private:
  const TrustRegionStage& stage_;
  bool history_;
  double* averages_;
  std::span<const double> energy_;
  double bias_before_ = 1, bias_ = 1, largest_ = 0;
  EnergyReference of_all_{};
};

}  // namespace

template <class T>
void trust_region(const Matrix& x, const TrustRegionStage& stage, Intermediates<T>& s) {
  const std::int64_t t = *x.step;
  const std::span<double> energy(s.column_energy, static_cast<std::size_t>(x.n));
  const std::span<double> ratios(s.energy_copy, energy.size());
  References references(x, stage, energy, ratios);

  double eta_average = 0;
  if (stage.gamma_from_step) eta_average = *x.eta_average = next_eta_average(stage, *x.eta_average, s.eta_hat, t);
  const double gamma_squared = step_weight(stage, s.eta_hat, eta_average, t);
  *x.gamma_sum += gamma_squared;  // eq:sf_main
  const bool damped = is_damped(stage, x.whole_m, x.n, t);
  const bool gate_step = damped && is_gate_step(stage, t);
  T* c_ema = static_cast<T*>(x.c_ema);
  T* c_last = static_cast<T*>(x.c_last);
  for (std::size_t j = 0; j < energy.size(); ++j) {
    const EnergyReference reference = references.take(j);
    x.c_sum[j] += gamma_squared * static_cast<double>(c_last[j]);  // eq:sf_main
    if (gate_step) {
      // eq:ratio, eq:clip_main or eq:hard_col_clip, eq:trigger_gate
      const double c_inst = instant_damping(stage, reference, energy[j]);
      c_ema[j] = next_c_ema(stage, c_ema[j], c_inst);  // eq:ema_main
    }
    const double c_avg = average_damping(stage, x.c_sum[j], *x.gamma_sum);  // eq:sf_main
    s.c[j] = c_last[j] = damping(stage, damped, c_ema[j], c_avg);           // eq:sf_main
    if (x.diagnostics != nullptr) ratios[j] = energy_ratio(stage, reference, energy[j]);
  }
  if (x.diagnostics != nullptr) measure_ratios(ratios, *x.diagnostics);
}

template void trust_region<float>(const Matrix&, const TrustRegionStage&, Intermediates<float>&);
template void trust_region<double>(const Matrix&, const TrustRegionStage&, Intermediates<double>&);

}  // namespace trasmuon::cpu
