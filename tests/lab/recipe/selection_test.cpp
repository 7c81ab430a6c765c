// SPDX-License-Identifier: Apache-2.0
#include "lab/recipe/selection.h"

#include <gtest/gtest.h>

#include <set>

#include "lab/support/plans.h"
#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

constexpr const char* kRecipe = R"(
study = "tiny"
seeds = 2
[method.muon]
rule = "muon"
[method.adamw]
rule = "adamw"
[part.table]
kappa = [10, 100]
[part.controls]
methods = ["adamw"]
bursts = false
)";

/// "table muon", one for each part and method of the plan.
std::set<std::string> chosen(const Selection& selection) {
  std::set<std::string> names;
  for (const PlannedRun& run : plan_of(kRecipe, {}, selection).runs) names.insert(run.part + " " + run.spec.method);
  return names;
}

std::string refusal(const Selection& selection) {
  return test::error_of([&] { plan_of(kRecipe, {}, selection); });
}

TEST(Selection, LeavesOutPartsAndMethods) {
  using Names = std::set<std::string>;
  EXPECT_EQ(chosen({}), (Names{"table muon", "table adamw", "controls adamw"}));
  EXPECT_EQ(chosen({.parts = {"table"}, .methods = {}}), (Names{"table muon", "table adamw"}));
  EXPECT_EQ(chosen({.parts = {"controls", "table"}, .methods = {}}), chosen({}));
  EXPECT_EQ(chosen({.parts = {}, .methods = {"muon"}}), (Names{"table muon"}));
  EXPECT_EQ(plan_of(kRecipe, {}, {.parts = {}, .methods = {"muon"}}).parts, (std::vector<std::string>{"table"}));
}

TEST(Selection, LeavesTheChosenRunsAsTheyAre) {
  std::set<std::string> all, some;
  for (const PlannedRun& run : plan_of(kRecipe).runs) all.insert(run_id(run.spec));
  for (const PlannedRun& run : plan_of(kRecipe, {}, {.parts = {"controls"}, .methods = {}}).runs)
    some.insert(run_id(run.spec));
  EXPECT_EQ(some.size(), 2u);
  for (const std::string& id : some) EXPECT_TRUE(all.contains(id)) << id;
}

TEST(Selection, RefusesWhatTheRecipeLacks) {
  EXPECT_EQ(refusal({.parts = {"tables"}, .methods = {}}),
            "--part tables: there is no [part.tables]; did you mean 'table'?");
  EXPECT_EQ(refusal({.parts = {}, .methods = {"adam"}}),
            "--method adam: there is no [method.adam]; did you mean 'adamw'?");
  EXPECT_EQ(refusal({.parts = {"controls"}, .methods = {"muon"}}),
            "--part, --method: no part asked for has such a method: nothing to run");
}

}  // namespace
}  // namespace trasmuon::lab
