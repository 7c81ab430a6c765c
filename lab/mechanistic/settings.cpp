// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/settings.h"

#include <trasmuon/error.h>

#include <variant>

#include "lab/records/json.h"
#include "lab/study/options_check.h"

namespace trasmuon::lab {

void validate(const MechanisticSettings& settings) {
  constexpr double kMostKappa = 1e100;  // its square, the smoothness, is far from overflow
  constexpr int kMostSteps = 1'000'000'000;
  const auto refuse = [](const char* field, const std::string& rule, const std::string& value) {
    throw Error("mechanistic: " + std::string(field) + " must be " + rule + ", got " + value);
  };
  if (settings.burst_columns > settings.dim) {
    refuse("burst_columns", "<= dim = " + std::to_string(settings.dim), std::to_string(settings.burst_columns));
  }
  if (settings.kappa > kMostKappa) refuse("kappa", "<= " + to_text(kMostKappa), to_text(settings.kappa));
  if (settings.steps > kMostSteps) refuse("steps", "<= " + to_text(kMostSteps), to_text(settings.steps));
  if (settings.burst_period > kMostSteps) {
    refuse("burst_period", "<= " + to_text(kMostSteps), to_text(settings.burst_period));
  }
  if (settings.burst_phase >= settings.burst_period) {
    refuse("burst_phase", "< burst_period = " + to_text(settings.burst_period), to_text(settings.burst_phase));
  }
}

void check(const MechanisticSettings& settings, const Options& options) {
  const auto* trasmuon = std::get_if<TrasMuonOptions>(&options);
  if (settings.damping != "columns" && trasmuon == nullptr) {
    throw Error("mechanistic: damping must be columns unless the rule is trasmuon, got " + settings.damping + " with " +
                rule_name(options));
  }
  if (settings.damping != "columns" && trasmuon->weight_decay != 0) {  // controls rescale the whole change of W
    throw Error("mechanistic: weight_decay must be 0 where damping is " + settings.damping + ", got " +
                to_text(trasmuon->weight_decay));
  }
  const auto* adamw = std::get_if<AdamWOptions>(&options);
  if (adamw != nullptr && settings.bursts && adamw->beta1 == 0) {
    throw Error("mechanistic: beta1 must be > 0 for bursts in AdamW's first moment, got 0");
  }
  if (settings.update_rms > 0 && std::visit([](const auto& o) { return o.lr; }, options) == 0) {
    throw Error("mechanistic: lr must be > 0 where update_rms is given, got 0");
  }
  check_options<double>(options, settings.lr_scale, "mechanistic");
}

}  // namespace trasmuon::lab
