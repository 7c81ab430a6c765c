// SPDX-License-Identifier: Apache-2.0
#include "lab/records/run_spec.h"

#include <gtest/gtest.h>
#include <trasmuon/option_fields.h>

#include <set>

namespace trasmuon::lab {
namespace {

RunSpec sample(const Options& options = TrasMuonOptions{.lr = 8e-3}) {
  return {.study = "mechanistic",
          .method = "clip-sf",
          .options = options,
          .settings = {{"kappa", 1e4}, {"steps", 1005}, {"fix_v", true}},
          .seed = 3};
}

TEST(RunSpec, JsonNamesRuleAndTypedFields) {
  const Json json = to_json(sample());
  EXPECT_EQ(json["options"]["rule"], "trasmuon");
  EXPECT_EQ(json["options"]["lr"], 8e-3);
  EXPECT_TRUE(json["options"]["nesterov"].is_boolean());
  EXPECT_TRUE(json["options"]["period"].is_number_integer());
  EXPECT_EQ(json["options"]["clip"], "soft");
  EXPECT_EQ(json["options"]["gamma"], "lr");
  EXPECT_EQ(json["seed"], 3);
}

TEST(RunSpec, SurvivesJsonForEveryRule) {
  for (const char* rule : {"trasmuon", "normuon", "muon", "dion", "adamw"}) {
    Options options = options_for(rule);
    set_field(options, "lr", 0.1 + 0.2);  // needs all 17 digits
    if (std::string_view(rule) == "trasmuon") set_fields(options, {{"gamma", "0.3"}, {"clip", "hard"}});
    const RunSpec spec = sample(options), copy = run_spec_from_json(Json::parse(to_json(spec).dump()));
    EXPECT_EQ(to_json(copy), to_json(spec));
    EXPECT_EQ(run_id(copy), run_id(spec));
    EXPECT_EQ(rule_name(copy.options), std::string_view(rule));
  }
}

TEST(RunId, IsTheSameInEveryProcessAndVersion) {
  EXPECT_EQ(run_id(sample()), run_id(sample()));
  RunSpec plain = sample(AdamWOptions{});
  plain.method = "adamw";
  EXPECT_EQ(run_id(plain), "adamw-s3-ac102e8b1e1a6cab");  // folders of earlier runs are found by it
}

TEST(RunId, FieldsThatCameLaterDoNotRenameEarlierRuns) {
  // A run of the laboratory's first version.
  const Json json = Json::parse(R"({"method": "clip-sf", "options": {"alpha": 0.4, "beta1": 0.95, "beta2": 0.95,
    "beta_clip": 0.5, "beta_energy": 0.95, "c_min": 0.1, "calibrate": true, "clip": "soft", "coefficients": "keller",
    "eps": 1e-08, "eps_energy": 1e-30, "gamma": "lr", "literal": false, "lr": 0.008, "min_damped_dim": 8,
    "nesterov": false, "ns_form": "automatic", "ns_steps": 5, "orthogonalize": true, "period": 1, "rho": 0.1,
    "rms_scale": 1.0, "row_scale": true, "rule": "trasmuon", "trigger": 4.0, "warmup": 50, "weight_decay": 0.0},
    "seed": 0, "settings": {"burst_columns": 1, "burst_factor": 1000.0, "burst_period": 10, "bursts": true, "dim": 64,
    "fix_v": true, "isotropic_b": false, "kappa": 10000.0, "lr_scale": 1.0, "steps": 1005, "trace": true,
    "uniform_c": false, "update_rms": 0.0}, "study": "mechanistic"})");
  RunSpec spec = run_spec_from_json(json);
  EXPECT_EQ(run_id(spec), "clip-sf-s0-2425cb676b3eb16c");
  set_field(spec.options, "momentum_dtype", "bf16");
  EXPECT_NE(run_id(spec), "clip-sf-s0-2425cb676b3eb16c");
}

TEST(RunId, ChangesWithAnything) {
  std::set<std::string> ids = {run_id(sample())};
  std::size_t variants = 1;
  const auto add = [&](const RunSpec& spec) {
    ids.insert(run_id(spec));
    ++variants;
  };
  const auto changed = [](auto change) {
    RunSpec spec = sample();
    change(spec);
    return spec;
  };
  add(changed([](RunSpec& s) { s.study = "pinn"; }));
  add(changed([](RunSpec& s) { s.method = "clip-only"; }));
  add(changed([](RunSpec& s) { s.seed = 4; }));
  add(changed([](RunSpec& s) { s.settings["kappa"] = 1e4 * (1 + 1e-15); }));
  add(changed([](RunSpec& s) { s.settings["fix_v"] = false; }));
  add(changed([](RunSpec& s) { s.settings["new"] = 1; }));
  add(sample(NorMuonOptions{.lr = 8e-3}));
  TrasMuonOptions fields{.lr = 8e-3};
  visit_fields(fields, [&](const char* name, auto& member, const Range&, const char*) {
    const auto before = member;
    using F = std::remove_cvref_t<decltype(member)>;
    if constexpr (std::is_same_v<F, bool>) member = !member;
    else if constexpr (std::is_enum_v<F>) member = static_cast<F>(static_cast<int>(member) == 0 ? 1 : 0);
    else if constexpr (std::is_same_v<F, std::string>) member = "you";
    else if constexpr (std::is_same_v<F, Gamma>) member = 0.5;
    else if constexpr (std::is_integral_v<F>) member += 1;
    else member = member == 0 ? 1e-300 : member * (1 + 1e-15);
    add(sample(fields));
    EXPECT_EQ(ids.size(), variants) << name;
    member = before;
  });
  EXPECT_EQ(ids.size(), variants);
}

}  // namespace
}  // namespace trasmuon::lab
