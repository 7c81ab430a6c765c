// SPDX-License-Identifier: Apache-2.0
#include "lab/records/run_spec.h"

#include <fmt/format.h>
#include <trasmuon/option_fields.h>

#include <map>

#include "lab/records/checksum.h"

namespace trasmuon::lab {
namespace {

constexpr const char* kLateFields[] = {
    "ns_precision",  "momentum_dtype", "beta_gamma",      "gamma_low",      "gamma_high",     "energy_of",
    "reference",     "quantile",       "reference_start", "quantile_rule",  "eps_reference",  "gate_first_step",
    "average_start", "eps_average",    "eps_calibration", "average_warmup", "skip_nonfinite", "clamp_damping",
    "damped_dim",    "input_eps",      "row_eps"};
/// A field that TrasMuon had before there were presets; `true` is now the preset "paper".
constexpr const char* kFormerSwitch = "literal";

Json options_to_json(const Options& options) {
  Json json = {{"rule", rule_name(options)}};
  std::visit(
      [&](const auto& o) {
        visit_fields(o, [&](const char* name, const auto& value, const Range&, const char*) {
          if constexpr (requires { Json(value); } && !std::is_enum_v<std::remove_cvref_t<decltype(value)>>) {
            json[name] = value;
          } else {
            json[name] = get_field(options, name);
          }
        });
      },
      options);
  return json;
}

Options options_from_json(const Json& json) {
  Options options = options_for(json.at("rule").get<std::string>());
  std::map<std::string, std::string> fields;
  for (const auto& [key, value] : json.items()) {
    const bool was_default = key == kFormerSwitch && value == false;
    if (key != "rule" && !was_default) fields[key] = to_text(value);
  }
  set_fields(options, fields);
  return options;
}

}  // namespace

Json to_json(const RunSpec& spec) {
  return {{"study", spec.study},
          {"method", spec.method},
          {"options", options_to_json(spec.options)},
          {"settings", spec.settings},
          {"seed", spec.seed}};
}

RunSpec run_spec_from_json(const Json& json) {
  return {.study = json.at("study"),
          .method = json.at("method"),
          .options = options_from_json(json.at("options")),
          .settings = json.at("settings"),
          .seed = json.at("seed")};
}

std::string run_id(const RunSpec& spec) {
  Json all = to_json(spec);
  Json& options = all["options"];
  // Fields added later do not count at their defaults, so that earlier runs keep their ids.
  const Json defaults = options_to_json(options_for(rule_name(spec.options)));
  for (const char* late : kLateFields) {
    if (options.contains(late) && options[late] == defaults[late]) options.erase(late);
  }
  if (std::holds_alternative<TrasMuonOptions>(spec.options)) options[kFormerSwitch] = false;
  return fmt::format("{}-s{}-{}", spec.method, spec.seed, checksum(all.dump()));
}

}  // namespace trasmuon::lab
