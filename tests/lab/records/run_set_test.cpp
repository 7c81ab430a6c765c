// SPDX-License-Identifier: Apache-2.0
#include "lab/records/run_set.h"

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/temporary_directory.h"
#include "lab/records/files.h"
#include "lab/records/plan.h"
#include "lab/support/refusal.h"

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
  EXPECT_TRUE(set.machine.contains("cpu"));
  EXPECT_EQ(set.methods, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(set.cells.size(), 4u);
  EXPECT_EQ(set.cells[0].axes["kappa"], 1e4);
  EXPECT_EQ(set.cells[1].method, "b");
  EXPECT_EQ(set.cells[0].planned, 2u);
  EXPECT_TRUE(set.cells[0].runs.empty());

  const Cell* cell = set.find("table", "b", {{"kappa", 100}});
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(cell->values("final_loss"), (std::vector<double>{2.5, 3.5}));
  EXPECT_TRUE(std::isnan(cell->values("lost")[0]));
  EXPECT_TRUE(std::isnan(cell->values("unknown")[0]));
  EXPECT_EQ(cell->runs[1].spec.seed, 1u);
  EXPECT_EQ(set.find("table", "b"), nullptr);  // an axis is not named
  EXPECT_EQ(set.find("table", "other", {{"kappa", 100}}), nullptr);
  EXPECT_EQ(set.of_part("table").size(), 4u);
  EXPECT_TRUE(set.of_part("none").empty());
}

TEST(RunSet, SaysWhatIsWrong) {
  const test::TemporaryDirectory out;
  EXPECT_EQ(test::refusal([&] { load_runs(out.path()); }),
            out.path() + ": holds no runs (no plan.json); `trasmuon run` makes them");
  test::write_file(out / "plan.json", "{\"name\": 3}");
  EXPECT_TRUE(test::refusal([&] { load_runs(out.path()); }).starts_with(out.path() + ": its records are damaged: "));
  test::write_file(out / "plan.json", "{");
  EXPECT_TRUE(test::refusal([&] { load_runs(out.path()); }).starts_with((out / "plan.json") + ": is no JSON: "));
}

TEST(RunSet, NamesTheManifestOfAnotherVersion) {
  const test::TemporaryDirectory out;
  write_plan(sample(), out.path(), "");
  const RunSpec spec = planned("a", 1e4, 0).spec;
  finish(out, spec, {});
  const std::string manifest = out / ("runs/" + run_id(spec) + "/manifest.json");
  Json changed = read_json(manifest);
  changed["spec"]["options"]["dropped"] = 1;
  test::write_file(manifest, changed.dump());
  EXPECT_EQ(test::refusal([&] { load_runs(out.path()); }),
            manifest + ": of another version? muon: has no field 'dropped'");
}

TEST(Plan, ReplacesTheOneBefore) {
  const test::TemporaryDirectory out;
  Plan plan = sample();
  write_plan(plan, out.path(), "first");
  plan.runs.resize(1);
  write_plan(plan, out.path(), "second");
  EXPECT_EQ(load_runs(out.path()).cells.size(), 1u);
  EXPECT_EQ(load_runs(out.path()).command, "second");
  EXPECT_EQ(out.names(), std::vector<std::string>{"plan.json"});
}

}  // namespace
}  // namespace trasmuon::lab
