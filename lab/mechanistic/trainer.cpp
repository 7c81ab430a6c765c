// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>

namespace trasmuon::lab {

Trainer::Trainer(const MechanisticSettings& settings, const Options& options, const Bursts& bursts,
                 std::span<double> weight, std::uint64_t seed)
    : settings_(settings),
      bursts_(bursts),
      lr_(std::visit([](const auto& o) { return o.lr; }, options)),
      weight_(weight) {
  const Bursts* active = settings.bursts ? &bursts : nullptr;
  if (const auto* own = std::get_if<TrasMuonOptions>(&options)) trasmuon_ = *own;
  const DampingControl control = damping_control(settings.damping);
  if (control == DampingControl::none) {
    bursted_.emplace(options, weight, settings.dim, active);
  } else {
    TrasMuonOptions undamped = *trasmuon_;
    undamped.clip = Clip::none;
    bursted_.emplace(undamped, weight, settings.dim, active);
    control_.emplace(control, *trasmuon_, settings.dim, active, seed);
  }
}

double Trainer::lr_at(int step) const {
  const double done = settings_.steps > 1 ? (step - 1.0) / (settings_.steps - 1.0) : 0;
  return lr_ * (1 + (settings_.lr_end - 1) * done);
}

MechanisticStep Trainer::step(int step, std::vector<double>& gradient) {
  const double lr = lr_at(step);
  if (settings_.lr_end != 1) bursted_->optimizer().set_lr(lr);
  std::span<const double> c;
  std::vector<double> before;
  if (control_) {
    c = control_->step(step, gradient);
    before.assign(weight_.begin(), weight_.end());
  }
  bursted_->step(step, gradient);
  const Diagnostics& update = bursted_->diagnostics();
  MechanisticStep seen{.step = step,
                       .event = bursted_->bursts_at(step),
                       .r_q95 = update.r_q95,
                       .r_max = update.r_max,
                       .update_rms = update.update_rms};
  if (!trasmuon_) return seen;
  if (control_) seen.update_rms = rescale_columns(before, c);
  else c = bursted_->damping();
  const auto [low, high] = std::minmax_element(c.begin(), c.end());
  seen.c_min = *low;
  seen.c_mean = std::accumulate(c.begin(), c.end(), 0.0) / static_cast<double>(c.size());
  seen.c_hit = bursts_.damping(step, c);
  seen.c_violated = !(*low >= trasmuon_->c_min * (1 - 1e-12) && *high <= 1);
  seen.bound_violated = trasmuon_->calibrate && !(seen.update_rms <= trasmuon_->rms_scale * lr * (1 + 1e-9));
  return seen;
}

/// Multiplies the columns of the step's change of W by c and returns the RMS of what is left.
double Trainer::rescale_columns(std::span<const double> before, std::span<const double> c) {
  double squares = 0;
  for (std::size_t i = 0; i < weight_.size(); ++i) {
    const double change = c[i % c.size()] * (weight_[i] - before[i]);
    weight_[i] = before[i] + change;
    squares += change * change;
  }
  return std::sqrt(squares / static_cast<double>(weight_.size()));
}

}  // namespace trasmuon::lab
