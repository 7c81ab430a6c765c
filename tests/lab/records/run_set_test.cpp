// SPDX-License-Identifier: Apache-2.0
#include "lab/records/run_set.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lab/records/files.h"
#include "lab/records/plan.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

PlannedRun planned(const std::string& method, double kappa, std::uint64_t seed) {
  return {.part = "table",
          .axes = {{"kappa", kappa}},
          .spec = {.study = "mechanistic",
                   .method = method,
                   .options = MuonOptions{},
                   .settings = {{"kappa", kappa}},
                   .seed = seed}};
}

/// Two methods at two points, two seeds each.
Plan sample() {
  Plan plan{.name = "bursts",
            .title = "A title",
            .study = "mechanistic",
            .parts = {"table"},
            .methods = {"a", "b"},
            .runs = {}};
  for (const double kappa : {1e4, 1e2}) {
    for (const char* method : {"a", "b"}) {
      for (const std::uint64_t seed : {0, 1}) plan.runs.push_back(planned(method, kappa, seed));
    }
  }
  return plan;
}

void finish(const test::TemporaryDirectory& out, const RunSpec& spec, const Json& summary) {
  const std::filesystem::path folder = out.path() + "/runs/" + run_id(spec);
  std::filesystem::create_directories(folder);
  write_atomically(folder / "manifest.json", Json{{"spec", to_json(spec)}}.dump());
  write_atomically(folder / "summary.json", summary.dump());
}

TEST(RunSet, HasTheRecipesOrderAndWhatIsFinished) {
  const test::TemporaryDirectory out;
  const Plan plan = sample();
  write_plan(plan, out.path(), "trasmuon run bursts");
  finish(out, planned("b", 1e2, 0).spec, {{"final_loss", 2.5}, {"lost", nullptr}});
  finish(out, planned("b", 1e2, 1).spec, {{"final_loss", 3.5}});
  finish(out, planned("other", 1e2, 1).spec, {{"final_loss", 9}});  // of a recipe before
  std::filesystem::create_directories(out / ("runs/" + run_id(planned("a", 1e4, 0).spec)));

  const RunSet set = load_runs(out.path());
  EXPECT_EQ(set.name, "bursts");
  EXPECT_EQ(set.title, "A title");
  EXPECT_EQ(set.study, "mechanistic");
  EXPECT_EQ(set.command, "trasmuon run bursts");
  EXPECT_EQ(set.methods, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(set.groups.size(), 4u);
  EXPECT_EQ(set.groups[0].axes["kappa"], 1e4);
  EXPECT_EQ(set.groups[1].method, "b");
  EXPECT_EQ(set.groups[0].planned, 2u);
  EXPECT_TRUE(set.groups[0].runs.empty());

  const SeedGroup* group = set.find("table", "b", {{"kappa", 100}});
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->values("final_loss"), (std::vector<double>{2.5, 3.5}));
  EXPECT_TRUE(std::isnan(group->values("lost")[0]));
  EXPECT_TRUE(std::isnan(group->values("unknown")[0]));
  EXPECT_EQ(group->runs[1].spec.seed, 1u);
  EXPECT_EQ(set.find("table", "b"), nullptr);  // an axis is not named
  EXPECT_EQ(set.find("table", "other", {{"kappa", 100}}), nullptr);
  EXPECT_EQ(set.of_part("table").size(), 4u);
  EXPECT_TRUE(set.of_part("none").empty());
}

TEST(RunSet, SaysWhatIsWrong) {
  const test::TemporaryDirectory out;
  EXPECT_EQ(test::error_of([&] { load_runs(out.path()); }),
            out.path() + ": contains no runs (no plan.json); `trasmuon run` makes them");
  test::write_file(out / "plan.json", "{\"name\": 3}");
  EXPECT_TRUE(test::error_of([&] { load_runs(out.path()); }).starts_with(out.path() + "/plan.json: damaged: "));
  test::write_file(out / "plan.json", "{");
  EXPECT_TRUE(test::error_of([&] { load_runs(out.path()); }).starts_with((out / "plan.json") + ": not valid JSON: "));
}

TEST(RunSet, LeavesOutDamagedRecordsAndNamesThem) {
  const test::TemporaryDirectory out;
  Plan plan = sample();
  PlannedRun again = planned("a", 1e4, 0);
  again.part = "again";
  plan.runs.push_back(again);
  write_plan(plan, out.path(), "");
  const RunSpec newer = planned("a", 1e4, 0).spec, empty = planned("b", 1e2, 0).spec, whole = planned("b", 1e2, 1).spec;
  for (const RunSpec& spec : {newer, empty, whole}) finish(out, spec, {{"final_loss", 1}});
  const std::string manifest = out / ("runs/" + run_id(newer) + "/manifest.json"),
                    summary = out / ("runs/" + run_id(empty) + "/summary.json");
  Json changed = read_json(manifest);
  changed["spec"]["options"]["dropped"] = 1;
  test::write_file(manifest, changed.dump());
  test::write_file(summary, "{}");

  const RunSet set = load_runs(out.path());
  EXPECT_EQ(set.finished(), 1u);
  EXPECT_EQ(set.planned(), 9u);
  EXPECT_EQ(set.find("table", "b", {{"kappa", 100}})->runs[0].spec.seed, 1u);
  EXPECT_EQ(set.damaged,  // each once, though two parts share the first
            (std::vector<std::string>{manifest + ": written by another version? muon: has no field 'dropped'",
                                      summary + ": has no numbers"}));
}

TEST(Plan, ReplacesTheOneBefore) {
  const test::TemporaryDirectory out;
  Plan plan = sample();
  write_plan(plan, out.path(), "first");
  plan.runs.resize(1);
  write_plan(plan, out.path(), "second");
  EXPECT_EQ(load_runs(out.path()).groups.size(), 1u);
  EXPECT_EQ(load_runs(out.path()).command, "second");
  EXPECT_EQ(out.names(), std::vector<std::string>{"plan.json"});
}

}  // namespace
}  // namespace trasmuon::lab
