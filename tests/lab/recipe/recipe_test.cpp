// SPDX-License-Identifier: Apache-2.0
#include "lab/recipe/recipe.h"

#include <gtest/gtest.h>

#include <set>

#include "lab/support/plans.h"

namespace trasmuon::lab {
namespace {

constexpr const char* kRecipe = R"(
study = "tiny"
title = "Two methods"
seeds = 2
[settings]
steps = 7
kappa = 3
[method.clip-sf]
rule = "trasmuon"
lr = 8e-3
layers = "hidden"     # a setting of the study
[method.muon]
rule = "muon"
kappa = 5             # stronger than [settings]
[part.grid]
methods = ["muon", "clip-sf"]
bursts = [true, false]
lr = [1e-3, 1e-2]     # fields of both rules
seeds = [4, 9]
[part.plain]
)";

TEST(Recipe, MultipliesOut) {
  const Plan plan = plan_of(kRecipe);
  EXPECT_EQ(plan.name, "x");
  EXPECT_EQ(plan.title, "Two methods");
  EXPECT_EQ(plan.study, "tiny");
  EXPECT_EQ(plan.parts, (std::vector<std::string>{"grid", "plain"}));
  EXPECT_EQ(plan.methods, (std::vector<std::string>{"clip-sf", "muon"}));
  ASSERT_EQ(plan.runs.size(), 2u * 2 * 2 * 2 + 2 * 2);
  const PlannedRun& first = plan.runs.front();
  EXPECT_EQ(first.spec.method, "muon");
  EXPECT_EQ(first.axes, (Json{{"bursts", true}, {"lr", 1e-3}}));
  EXPECT_EQ(first.spec.seed, 4u);
  EXPECT_EQ(plan.runs[1].spec.seed, 9u);
  EXPECT_EQ(plan.runs[2].spec.method, "clip-sf");
  EXPECT_EQ(plan.runs[4].axes["lr"], 1e-2);
  EXPECT_EQ(plan.runs.back().part, "plain");
  EXPECT_EQ(plan.runs.back().axes, Json::object());
  EXPECT_EQ(plan.runs.back().spec.seed, 1u);
  std::set<std::string> ids;
  for (const PlannedRun& run : plan.runs) ids.insert(run_id(run.spec));
  EXPECT_EQ(ids.size(), plan.runs.size());
}

TEST(Recipe, WhatStandsFurtherDownWins) {
  const Plan plan = plan_of(kRecipe);
  const RunSpec &muon = plan.runs[0].spec, &clip = plan.runs[2].spec;
  EXPECT_EQ(muon.settings["steps"], 7);
  EXPECT_EQ(muon.settings["kappa"], 5.0);
  EXPECT_EQ(clip.settings["kappa"], 3.0);
  EXPECT_EQ(clip.settings["layers"], "hidden");
  EXPECT_EQ(muon.settings["layers"], "all");  // the default, written out
  EXPECT_EQ(get_field(clip.options, "lr"), "0.001");
  EXPECT_EQ(get_field(plan.runs.back().spec.options, "lr"), "0.02");                  // muon's default
  EXPECT_EQ(get_field(plan.runs[plan.runs.size() - 3].spec.options, "lr"), "0.008");  // clip-sf's
}

TEST(Recipe, FieldsOverridePresets) {
  const Plan plan = plan_of(R"(
study = "tiny"
[method.paper]
clip = "hard"
preset = "paper"
rule = "trasmuon"
[method.released]
rule = "trasmuon"
preset = "released"
[part.p]
period = 9
)");
  ASSERT_EQ(plan.runs.size(), 2u);
  TrasMuonOptions paper = TrasMuonOptions::paper(), released = TrasMuonOptions::released();
  paper.clip = Clip::hard;
  paper.period = released.period = 9;
  EXPECT_EQ(describe(plan.runs[0].spec.options), describe(paper));
  EXPECT_EQ(describe(plan.runs[1].spec.options), describe(released));
}

TEST(Recipe, PartsShareEqualRuns) {
  const Plan plan = plan_of(tiny_recipe("seeds = 1", "kappa = [1e1, 1e2]\n[part.again]\nkappa = 100"));
  ASSERT_EQ(plan.runs.size(), 6u);
  EXPECT_EQ(run_id(plan.runs[2].spec), run_id(plan.runs[4].spec));  // 1e2 and 100
  EXPECT_EQ(plan.runs[4].axes, Json::object());
}

TEST(Recipe, AListOfOneIsAnAxisToo) {
  EXPECT_EQ(plan_of(tiny_recipe("", "kappa = [100]")).runs[0].axes, (Json{{"kappa", 100.0}}));
}

TEST(Recipe, DefaultsToSeedZeroAllMethodsAndItsOwnName) {
  const Plan plan = plan_of(tiny_recipe("", ""));
  ASSERT_EQ(plan.runs.size(), 2u);
  EXPECT_EQ(plan.runs[1].spec.seed, 0u);
  EXPECT_EQ(plan.title, "x");
}

TEST(Recipe, JointRulesSeeAllFieldsAtOnce) {
  // lr * weight_decay <= 1 holds only with both.
  const Plan plan =
      plan_of("study = \"tiny\"\n[method.a]\nrule = \"adamw\"\nlr = 200\nweight_decay = 0\n[part.p]\nbursts = true\n");
  EXPECT_EQ(get_field(plan.runs[0].spec.options, "lr"), "200");
}

TEST(Overrides, GoOverEverything) {
  const Plan plan = plan_of(kRecipe, {"kappa=50", "seeds=1", "steps=2", "layers=all"});
  ASSERT_EQ(plan.runs.size(), 8u + 2);
  for (const PlannedRun& run : plan.runs) {
    EXPECT_EQ(run.spec.settings["kappa"], 50.0);
    EXPECT_EQ(run.spec.settings["steps"], 2);
    EXPECT_EQ(run.spec.settings["layers"], "all");
    EXPECT_EQ(run.spec.seed, 0u);
  }
}

TEST(Overrides, TurnAnAxisIntoOnePoint) {
  const Plan plan = plan_of(tiny_recipe(), {"kappa=50", "seeds=[7]"});
  ASSERT_EQ(plan.runs.size(), 2u);
  EXPECT_EQ(plan.runs[0].axes, (Json{{"kappa", 50.0}}));
  EXPECT_EQ(plan.runs[0].spec.seed, 7u);
}

}  // namespace
}  // namespace trasmuon::lab
