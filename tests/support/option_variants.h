// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "trasmuon/options.h"

namespace trasmuon::test {

/// Options and what is special about them.
struct Variant {
  std::string name;
  TrasMuonOptions options;
};

/// The default with one option changed at a time, each guard off alone among them, and the presets. All have a large
/// learning rate, damp matrices of any size, and see bursts often enough to tell the variants apart.
inline std::vector<Variant> option_variants() {
  const auto usual = [](TrasMuonOptions o) {
    o.lr = 0.02;
    o.min_damped_dim = 1;
    return o;
  };
  std::vector<Variant> list = {{"paper", usual(TrasMuonOptions::paper())},
                               {"released", usual(TrasMuonOptions::released())}};
  const std::vector<std::vector<std::pair<const char*, const char*>>> changes = {
      {{"nesterov", "false"}},
      {{"energy_of", "gradient"}},
      {{"energy_of", "gradient"}, {"nesterov", "false"}},
      {{"energy_of", "direction"}},
      {{"energy_of", "direction"}, {"row_scale", "false"}},
      {{"reference", "history"}},
      {{"reference", "history"}, {"reference_start", "zero"}},
      {{"reference", "history"}, {"reference_start", "first"}},
      {{"reference", "history"}, {"energy_of", "gradient"}},
      {{"reference", "history"}, {"energy_of", "direction"}, {"clip", "hard"}},
      {{"reference_start", "zero"}},
      {{"reference_start", "first"}},
      {{"quantile", "0.8"}},
      {{"quantile", "0"}},
      {{"quantile", "1"}},
      {{"quantile_rule", "nearest"}},
      {{"quantile_rule", "nearest"}, {"quantile", "0.3"}},
      {{"gate_first_step", "true"}, {"period", "3"}},
      {{"average_warmup", "false"}, {"warmup", "4"}, {"rho", "0.5"}},
      {{"min_damped_dim", "8"}},
      {{"min_damped_dim", "8"}, {"damped_dim", "columns"}},
      {{"gamma", "eta_hat"}, {"rho", "0.5"}},
      {{"gamma", "eta_hat"}, {"rho", "0.5"}, {"row_scale", "false"}, {"gamma_low", "0.99"}, {"gamma_high", "1.01"}},
      {{"gamma", "0.5"}, {"rho", "0.5"}},
      {{"eps_energy", "0"}},
      {{"eps_energy", "0.9"}},
      {{"eps_reference", "0.5"}},
      {{"eps_reference", "0.5"}, {"clip", "hard"}},
      {{"eps_average", "1e-3"}, {"rho", "0.5"}},
      {{"average_start", "zero"}, {"gamma", "0"}, {"rho", "0.5"}},
      {{"clamp_damping", "false"}, {"average_start", "zero"}, {"gamma", "0"}, {"rho", "0.95"}},
      {{"input_eps", "twice"}, {"eps", "0.1"}},
      {{"input_eps", "once"}, {"eps", "0.1"}},
      {{"row_eps", "outside"}, {"eps", "0.1"}},
      {{"eps_calibration", "10"}},
      {{"skip_nonfinite", "false"}},
  };
  for (const auto& change : changes) {
    Options options = usual({});
    std::string name;
    for (const auto& [field, value] : change) {
      set_field(options, field, value);
      name += std::string(name.empty() ? "" : ", ") + field + " = " + value;
    }
    list.push_back({name, std::get<TrasMuonOptions>(options)});
  }
  return list;
}

}  // namespace trasmuon::test
