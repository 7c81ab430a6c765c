// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "trasmuon/error.h"
#include "trasmuon/options.h"

namespace trasmuon {

TrasMuonOptions TrasMuonOptions::paper() {
  TrasMuonOptions o;
  o.nesterov = false;
  o.rms_scale = 1;
  o.reference_start = ReferenceStart::zero;
  o.eps_energy = 0;
  o.eps_reference = 1e-8;
  o.eps_average = 1e-8;
  o.average_start = AverageStart::zero;
  o.clamp_damping = false;
  o.min_damped_dim = 1;
  o.input_eps = InputEps::twice;
  o.skip_nonfinite = false;
  return o;
}

TrasMuonOptions TrasMuonOptions::released() {
  TrasMuonOptions o;
  o.weight_decay = 0;
  o.nesterov = false;
  o.coefficients = "you";
  o.rms_scale = 0.2;
  o.c_min = 0.7;
  o.beta_energy = 0.99;
  o.beta_clip = 0.9;
  o.trigger = 3;
  o.period = 4;
  o.rho = 0.3;
  o.reference_start = ReferenceStart::first;
  o.quantile_rule = QuantileRule::nearest;
  o.gate_first_step = true;
  o.average_warmup = false;
  o.eps_energy = 0;
  o.eps_reference = 1e-12;
  o.eps_average = 1e-12;
  o.clamp_damping = false;
  o.damped_dim = DampedDim::columns;
  o.input_eps = InputEps::once;
  o.row_eps = RowEps::outside;
  o.eps_calibration = 1e-12;
  o.skip_nonfinite = false;
  return o;
}

AdamWOptions AdamWOptions::released() { return {.weight_decay = 0, .beta1 = 0.95, .beta2 = 0.95}; }

Options options_for(std::string_view rule, std::string_view preset) {
  const Options options = options_for(rule);
  if (preset == "default") return options;
  std::string known = "default";
  if (std::holds_alternative<TrasMuonOptions>(options)) {
    if (preset == "paper") return TrasMuonOptions::paper();
    if (preset == "released") return TrasMuonOptions::released();
    known = "one of default, paper, released";
  } else if (std::holds_alternative<AdamWOptions>(options)) {
    if (preset == "released") return AdamWOptions::released();
    known = "one of default, released";
  }
  throw Error(std::string(rule) + ": preset must be " + known + ", got '" + std::string(preset) + "'");
}

}  // namespace trasmuon
