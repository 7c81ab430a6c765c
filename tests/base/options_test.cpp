// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/model.h"
#include "trasmuon/option_fields.h"

namespace trasmuon {
namespace {

using test::error_of;

std::string setting(Options options, const char* field, const char* value) {
  const Options before = options;
  const std::string text = error_of([&] { set_field(options, field, value); });
  if (text != "no error") {
    EXPECT_EQ(describe(options), describe(before)) << "changed by a refused value";
  }
  return text;
}

TEST(Options, DefaultsAreTheDocumentedOnes) {
  const TrasMuonOptions o;
  EXPECT_EQ(describe(o).substr(0, 3), "lr ");
  const std::pair<const char*, const char*> expected[] = {{"lr", "0.001"},
                                                          {"weight_decay", "0.01"},
                                                          {"beta1", "0.95"},
                                                          {"beta2", "0.95"},
                                                          {"eps", "1e-08"},
                                                          {"ns_steps", "5"},
                                                          {"coefficients", "keller"},
                                                          {"nesterov", "true"},
                                                          {"rms_scale", "0.2"},
                                                          {"clip", "soft"},
                                                          {"alpha", "1"},
                                                          {"c_min", "0.1"},
                                                          {"beta_energy", "0.95"},
                                                          {"beta_clip", "0.5"},
                                                          {"trigger", "2"},
                                                          {"period", "1"},
                                                          {"warmup", "0"},
                                                          {"rho", "0.1"},
                                                          {"gamma", "lr"},
                                                          {"reference", "columns"},
                                                          {"reference_start", "corrected"},
                                                          {"skip_nonfinite", "true"},
                                                          {"eps_energy", "1e-30"},
                                                          {"min_damped_dim", "8"}};
  for (const auto& [field, value] : expected) EXPECT_EQ(get_field(o, field), value) << field;
  EXPECT_EQ(get_field(MuonOptions{}, "lr"), "0.02");
  EXPECT_EQ(get_field(NorMuonOptions{}, "lr"), "0.02");
  EXPECT_EQ(get_field(DionOptions{}, "lr"), "0.01");
  EXPECT_EQ(get_field(AdamWOptions{}, "beta2"), "0.95");
}

TEST(Options, EveryNumericFieldOfEveryRuleRefusesNaNAndInfinityByName) {
  for (const char* rule : {"trasmuon", "normuon", "muon", "dion", "adamw"}) {
    Options options = options_for(rule);
    EXPECT_EQ(error_of([&] { validate(options); }), "no error") << rule;
    int fields = 0;
    std::visit(
        [&](auto& o) {
          visit_fields(o, [&](const char* name, auto& member, const Range& range, const char* description) {
            EXPECT_GT(std::string(description).size(), 5u);
            using F = std::remove_cvref_t<decltype(member)>;
            if constexpr (std::is_same_v<F, double> || std::is_same_v<F, Gamma>) {
              const F good = member;
              for (double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
                member = bad;
                const std::string text = error_of([&] { validate(options); });
                EXPECT_EQ(text, std::string(rule) + ": " + name + " must be " + to_string(range) + ", got " +
                                    (std::isnan(bad) ? "nan" : "inf"));
              }
              member = good;
              ++fields;
            }
          });
        },
        options);
    EXPECT_GE(fields, 4) << rule;
  }
}

TEST(Options, ValuesOutsideTheirRangeAreNamed) {
  const TrasMuonOptions o;
  EXPECT_EQ(setting(o, "lr", "-0.1"), "trasmuon: lr must be in [0, 1e+20], got -0.1");
  EXPECT_EQ(setting(o, "weight_decay", "-1"), "trasmuon: weight_decay must be >= 0, got -1");
  EXPECT_EQ(setting(o, "weight_decay", "5000"), "trasmuon: lr * weight_decay must be <= 1, got 5");
  EXPECT_EQ(setting(o, "beta1", "1"), "trasmuon: beta1 must be in [0, 1), got 1");
  EXPECT_EQ(setting(o, "beta2", "-0.1"), "trasmuon: beta2 must be in [0, 1), got -0.1");
  EXPECT_EQ(setting(o, "eps", "0"), "trasmuon: eps must be >= 1e-30, got 0");
  EXPECT_EQ(setting(o, "ns_steps", "101"), "trasmuon: ns_steps must be in [0, 100], got 101");
  EXPECT_EQ(setting(o, "ns_steps", "2.5"), "trasmuon: ns_steps must be a whole number, got '2.5'");
  EXPECT_EQ(setting(o, "coefficients", "x"),
            "trasmuon: coefficients must be one of keller, you, polar_express, minimax4, got 'x'");
  EXPECT_EQ(setting(o, "ns_form", "fast"), "trasmuon: ns_form must be one of automatic, standard, gram, got 'fast'");
  EXPECT_EQ(setting(o, "rms_scale", "0"), "trasmuon: rms_scale must be in (0, 1e+10], got 0");
  EXPECT_EQ(setting(o, "clip", "medium"), "trasmuon: clip must be one of none, soft, hard, got 'medium'");
  EXPECT_EQ(setting(o, "alpha", "-1"), "trasmuon: alpha must be > 0, got -1");
  EXPECT_EQ(setting(o, "c_min", "0"), "trasmuon: c_min must be in (0, 1], got 0");
  EXPECT_EQ(setting(o, "c_min", "1.1"), "trasmuon: c_min must be in (0, 1], got 1.1");
  EXPECT_EQ(setting(o, "beta_energy", "1"), "trasmuon: beta_energy must be in [0, 1), got 1");
  EXPECT_EQ(setting(o, "beta_clip", "2"), "trasmuon: beta_clip must be in [0, 1), got 2");
  EXPECT_EQ(setting(o, "trigger", "-1"), "trasmuon: trigger must be >= 0, got -1");
  EXPECT_EQ(setting(o, "period", "0"), "trasmuon: period must be >= 1, got 0");
  EXPECT_EQ(setting(o, "warmup", "-1"), "trasmuon: warmup must be >= 0, got -1");
  EXPECT_EQ(setting(o, "rho", "1.5"), "trasmuon: rho must be in [0, 1], got 1.5");
  EXPECT_EQ(setting(o, "gamma", "-1"), "trasmuon: gamma must be in [0, 1e+20], got -1");
  EXPECT_EQ(setting(o, "gamma", "eta"), "trasmuon: gamma must be a number, lr or eta_hat, got 'eta'");
  EXPECT_EQ(setting(o, "eps_energy", "-1"), "trasmuon: eps_energy must be >= 0, got -1");
  EXPECT_EQ(setting(o, "min_damped_dim", "0"), "trasmuon: min_damped_dim must be >= 1, got 0");
  EXPECT_EQ(setting(o, "gate_first_step", "yes"), "trasmuon: gate_first_step must be true or false, got 'yes'");
  EXPECT_EQ(setting(o, "beta_gamma", "1"), "trasmuon: beta_gamma must be in [0, 1), got 1");
  EXPECT_EQ(setting(o, "gamma_low", "1.5"), "trasmuon: gamma_low must be in [0, 1], got 1.5");
  EXPECT_EQ(setting(o, "gamma_high", "0.5"), "trasmuon: gamma_high must be in [1, 1e+10], got 0.5");
  EXPECT_EQ(setting(o, "energy_of", "m"), "trasmuon: energy_of must be one of momentum, gradient, direction, got 'm'");
  EXPECT_EQ(setting(o, "reference", "median"), "trasmuon: reference must be one of columns, history, got 'median'");
  EXPECT_EQ(setting(o, "reference_start", "one"),
            "trasmuon: reference_start must be one of corrected, zero, first, got 'one'");
  EXPECT_EQ(setting(o, "quantile", "1.5"), "trasmuon: quantile must be in [0, 1], got 1.5");
  EXPECT_EQ(setting(o, "quantile_rule", "lower"),
            "trasmuon: quantile_rule must be one of interpolated, nearest, got 'lower'");
  EXPECT_EQ(setting(o, "eps_reference", "-1"), "trasmuon: eps_reference must be >= 0, got -1");
  EXPECT_EQ(setting(o, "eps_average", "-1"), "trasmuon: eps_average must be >= 0, got -1");
  EXPECT_EQ(setting(o, "average_start", "1"), "trasmuon: average_start must be one of one, zero, got '1'");
  EXPECT_EQ(setting(o, "damped_dim", "rows"), "trasmuon: damped_dim must be one of smaller, columns, got 'rows'");
  EXPECT_EQ(setting(o, "input_eps", "none"), "trasmuon: input_eps must be one of capped, twice, once, got 'none'");
  EXPECT_EQ(setting(o, "row_eps", "none"), "trasmuon: row_eps must be one of inside, outside, got 'none'");
  EXPECT_EQ(setting(o, "eps_calibration", "0"), "trasmuon: eps_calibration must be >= 1e-30, got 0");
  EXPECT_EQ(setting(o, "lr", "fast"), "trasmuon: lr must be a number, got 'fast'");
  EXPECT_EQ(setting(o, "learning_rate", "1"), "trasmuon: has no field 'learning_rate'");
  EXPECT_EQ(setting(TrasMuonOptions{.trigger = 0}, "clip", "hard"),
            "trasmuon: trigger must be > 0 when clip is hard, got 0");
  EXPECT_EQ(setting(DionOptions{}, "rank_fraction", "0"), "dion: rank_fraction must be in (0, 1], got 0");
  EXPECT_EQ(setting(MuonOptions{}, "scaling", "none"),
            "muon: scaling must be one of original, match_rms_adamw, got 'none'");
  EXPECT_EQ(setting(NorMuonOptions{}, "scaling", "none"), "normuon: scaling must be one of paper, code, got 'none'");
  EXPECT_EQ(error_of([] { options_for("sgd"); }),
            "rule must be one of trasmuon, normuon, muon, dion, adamw, got 'sgd'");
}

TEST(Options, EveryFieldSurvivesARoundTripThroughText) {
  for (const char* rule : {"trasmuon", "normuon", "muon", "dion", "adamw"}) {
    Options options = options_for(rule);
    std::visit(
        [&](auto& o) {
          visit_fields(o, [&](const char* name, auto&, const Range&, const char*) {
            Options copy = options_for(rule);
            EXPECT_EQ(setting(copy, name, get_field(copy, name).c_str()), "no error") << rule << " " << name;
          });
        },
        options);
  }
  Options d = DionOptions{};
  set_field(d, "seed", "9007199254740993");  // not exact in a double
  EXPECT_EQ(get_field(d, "seed"), "9007199254740993");
  set_field(d, "seed", 5e9);
  EXPECT_EQ(get_field(d, "seed"), "5000000000");
  Options o = TrasMuonOptions{};
  set_field(o, "nesterov", 0);
  EXPECT_FALSE(std::get<TrasMuonOptions>(o).nesterov);
  set_fields(o, {{"lr", "100"}, {"weight_decay", "0.001"}});  // one by one, either order would be refused
  EXPECT_EQ(std::get<TrasMuonOptions>(o).lr, 100);
  set_fields(o, {{"lr", "0.001"}, {"weight_decay", "900"}});
  set_field(o, "lr", "0.1234567890123456789e-3");
  EXPECT_EQ(std::get<TrasMuonOptions>(o).lr, 0.1234567890123456789e-3);
  set_field(o, "gamma", "0.5");
  EXPECT_EQ(std::get<TrasMuonOptions>(o).gamma, 0.5);
  set_field(o, "gamma", "lr");
  EXPECT_EQ(std::get<TrasMuonOptions>(o).gamma, Gamma());
  set_field(o, "gamma", "eta_hat");
  EXPECT_EQ(std::get<TrasMuonOptions>(o).gamma, Gamma::Kind::eta_hat);
  EXPECT_EQ(get_field(o, "gamma"), "eta_hat");
  set_field(o, "clip", "hard");
  EXPECT_EQ(std::get<TrasMuonOptions>(o).clip, Clip::hard);
}

TEST(Options, DescribeKeepsLongValuesWhole) {
  MuonOptions o;
  for (int i = 0; i < 30; ++i) o.coefficients += i == 0 ? "" : "; 3.4445, -4.775, 2.0315";
  o.coefficients = o.coefficients.substr(o.coefficients.find(';') + 2);
  const std::string text = describe(o);
  ASSERT_GT(o.coefficients.size(), 400u);
  EXPECT_NE(text.find(o.coefficients + "               keller, you,"), std::string::npos) << text;
}

TEST(Options, DescribeListsEveryFieldWithDefaultAndRange) {
  const std::string text = describe(TrasMuonOptions{});
  EXPECT_NE(text.find("c_min           0.1          in (0, 1]     smallest damping factor of a column\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace trasmuon
