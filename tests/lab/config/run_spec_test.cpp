// SPDX-License-Identifier: Apache-2.0
#include "lab/config/run_spec.h"

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
    else if constexpr (std::is_same_v<F, std::optional<double>>) member = 0.5;
    else if constexpr (std::is_integral_v<F>) member += 1;
    else member *= 1 + 1e-15;
    add(sample(fields));
    EXPECT_EQ(ids.size(), variants) << name;
    member = before;
  });
  EXPECT_EQ(ids.size(), variants);
}

}  // namespace
}  // namespace trasmuon::lab
