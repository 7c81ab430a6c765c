// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/runner.h"

#include <gtest/gtest.h>

#include <fstream>

#include "lab/records/files.h"
#include "lab/records/memory.h"
#include "lab/records/run_set.h"
#include "lab/runner/folder_lock.h"
#include "lab/support/plans.h"
#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

/// Lines that the runs left in the diary: how many were made.
std::size_t runs_made(const std::string& diary) {
  const std::string text = fs::exists(diary) ? test::read_file(diary) : "";
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string folder_of(const test::TemporaryDirectory& out, const PlannedRun& run) {
  return out / ("runs/" + run_id(run.spec));
}

TEST(Runner, LeavesCompleteRecords) {
  const test::TemporaryDirectory out;
  const Plan plan = plan_of(tiny_recipe());
  const Outcome outcome = run_quietly(plan, out.path());
  EXPECT_EQ(outcome.planned, 12u);
  EXPECT_EQ(outcome.finished, 12u);
  EXPECT_EQ(outcome.failed, 0u);
  EXPECT_EQ(out.names(), (std::vector<std::string>{".lock", "plan.json", "runs"}));
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder_of(out, plan.runs[0])))
    files.push_back(entry.path().filename());
  std::sort(files.begin(), files.end());
  EXPECT_EQ(files, (std::vector<std::string>{"manifest.json", "metrics.csv", "summary.json"}));

  const RunSet set = load_runs(out.path());
  const SeedGroup* group = set.find("table", "adamw", {{"kappa", 100}});
  ASSERT_NE(group, nullptr);
  ASSERT_EQ(group->runs.size(), 3u);
  EXPECT_EQ(to_json(group->runs[2].spec), to_json(plan.runs[11].spec));
  EXPECT_EQ(group->runs[2].table("metrics")["loss"].back(), group->runs[2].value("final_loss"));
  EXPECT_TRUE(read_json(group->runs[2].folder / "manifest.json").contains("started"));
}

TEST(Runner, NeverRepeatsAFinishedRun) {
  const test::TemporaryDirectory out;
  const std::string diary = out / "diary", settings = "\n[settings]\ndiary = \"" + diary + "\"";
  const Plan small = plan_of(tiny_recipe("seeds = 2" + settings)), large = plan_of(tiny_recipe("seeds = 5" + settings));
  EXPECT_EQ(run_quietly(small, out / "x").finished, 8u);
  EXPECT_EQ(runs_made(diary), 8u);
  const Outcome again = run_quietly(small, out / "x");
  EXPECT_EQ(again.finished, 0u);
  EXPECT_EQ(again.already_finished, 8u);
  EXPECT_EQ(runs_made(diary), 8u);

  // More seeds, and one run that was cut off: only these are made.
  const std::string cut = out / ("x/runs/" + run_id(small.runs[3].spec));
  fs::remove(cut + "/summary.json");
  test::write_file(cut + "/left_over", "");
  const Outcome more = run_quietly(large, out / "x");
  EXPECT_EQ(more.planned, 20u);
  EXPECT_EQ(more.already_finished, 7u);
  EXPECT_EQ(more.finished, 13u);
  EXPECT_EQ(runs_made(diary), 21u);
  EXPECT_FALSE(fs::exists(cut + "/left_over"));
}

TEST(Runner, RepeatsARunWithADamagedRecordAndNoOther) {
  const test::TemporaryDirectory out;
  const std::string diary = out / "diary";
  const Plan plan = plan_of(tiny_recipe("seeds = 2\n[settings]\ndiary = \"" + diary + "\""));
  run_quietly(plan, out / "x");
  const std::vector<std::string> before = numbers_in(out / "x");
  const auto file = [&](std::size_t run, const char* name) {
    return out / ("x/runs/" + run_id(plan.runs[run].spec) + "/" + name);
  };
  test::write_file(file(0, "summary.json"), "");
  fs::remove(file(2, "manifest.json"));
  fs::resize_file(file(5, "metrics.csv"), 20);
  std::string console;
  const Outcome outcome = run_quietly(plan, out / "x", 1, &console);
  EXPECT_EQ(outcome.already_finished, 5u);
  EXPECT_EQ(outcome.finished, 3u);
  EXPECT_EQ(runs_made(diary), 11u);
  EXPECT_EQ(numbers_in(out / "x"), before);
  EXPECT_NE(console.find("damaged record, the run is repeated: " + file(0, "summary.json") + ": not valid JSON"),
            std::string::npos)
      << console;
  EXPECT_EQ(run_quietly(plan, out / "x").finished, 0u);
}

TEST(Runner, RunsWhenNobodyCanReadItsConsole) {
  const test::TemporaryDirectory out;
  std::FILE* full = std::fopen("/dev/full", "w");
  const Plan plan = plan_of(tiny_recipe("seeds = 4\n[settings]\naccident = \"odd-seeds\"", "kappa = 10"));
  for (const bool terminal : {false, true}) {
    const Outcome outcome = run_plan(plan, {.out = out.path(), .command = "", .console = full, .terminal = terminal});
    EXPECT_EQ(outcome.already_finished + outcome.finished, 4u);
    EXPECT_EQ(outcome.failed, 4u);
  }
  std::fclose(full);
}

TEST(Runner, StartsOnlyAsManyRunsAsMemoryHolds) {
  const test::TemporaryDirectory out;
  const std::string most = std::to_string(static_cast<long long>(0.7 * usable_memory()));
  const Plan plan = plan_of(tiny_recipe("seeds = 2\n[settings]\nmemory = " + most));
  const std::string error = test::error_of([&] { run_quietly(plan, out.path(), 2); });
  EXPECT_TRUE(error.starts_with("--jobs must be <= 1 for runs of about ")) << error;
  EXPECT_EQ(run_quietly(plan, out.path(), 0).finished, 8u);
}

TEST(Runner, AChangedRecipeKeepsOldRunsButShowsItsOwn) {
  const test::TemporaryDirectory out;
  run_quietly(plan_of(tiny_recipe()), out.path());
  run_quietly(plan_of(tiny_recipe("seeds = 1", "kappa = 7")), out.path());
  const RunSet set = load_runs(out.path());
  EXPECT_EQ(set.groups.size(), 2u);
  EXPECT_EQ(set.groups[0].runs.size(), 1u);
  EXPECT_EQ(run_quietly(plan_of(tiny_recipe()), out.path()).finished, 0u);  // they are still there
}

TEST(Runner, PartsShareARun) {
  const test::TemporaryDirectory out;
  const Plan plan = plan_of(tiny_recipe("", "kappa = [10, 100]\n[part.again]\nkappa = 100"));
  EXPECT_EQ(run_quietly(plan, out.path()).finished, 4u);
  const RunSet set = load_runs(out.path());
  EXPECT_EQ(set.find("again", "muon")->runs.size(), 1u);
  EXPECT_EQ(set.find("again", "muon")->runs[0].folder, set.find("table", "muon", {{"kappa", 100}})->runs[0].folder);
}

TEST(Runner, SameNumbersSerialParallelAndAgain) {
  const test::TemporaryDirectory out;
  const Plan plan = plan_of(tiny_recipe("seeds = 4"));
  for (const auto& [name, jobs] : {std::pair{"serial", 1}, {"parallel", 7}, {"again", 2}}) {
    run_quietly(plan, out / name, jobs);
  }
  const std::vector<std::string> serial = numbers_in(out / "serial");
  EXPECT_EQ(serial.size(), 2u * 16);
  EXPECT_EQ(numbers_in(out / "parallel"), serial);
  EXPECT_EQ(numbers_in(out / "again"), serial);
  EXPECT_NE(read_text(fs::path(out / "serial/runs") / run_id(plan.runs[0].spec) / "metrics.csv"),
            read_text(fs::path(out / "serial/runs") / run_id(plan.runs[1].spec) / "metrics.csv"));
}

TEST(Runner, AFailingRunStopsNoOther) {
  const test::TemporaryDirectory out;
  const Plan plan = plan_of(tiny_recipe("seeds = 4\n[settings]\naccident = \"odd-seeds\"", "kappa = 10"));
  std::string console;
  const Outcome outcome = run_quietly(plan, out.path(), 2, &console);
  EXPECT_EQ(outcome.finished, 4u);
  EXPECT_EQ(outcome.failed, 4u);
  const std::string id = run_id(plan.runs[1].spec);
  EXPECT_NE(console.find(id + " failed: the loss is no number\n"), std::string::npos) << console;
  EXPECT_EQ(test::read_file(out / ("runs/" + id + "/stderr.txt")), "something before it\nthe loss is no number\n");
  EXPECT_FALSE(fs::exists(out / ("runs/" + id + "/summary.json")));
  EXPECT_EQ(load_runs(out.path()).find("table", "muon")->runs.size(), 2u);

  const Outcome again = run_quietly(plan, out.path());
  EXPECT_EQ(again.already_finished, 4u);
  EXPECT_EQ(again.failed, 4u);  // tried again
}

TEST(Runner, ACrashIsReportedToo) {
  const test::TemporaryDirectory out;
  const Plan plan = plan_of(tiny_recipe("[settings]\naccident = \"crash\"", "methods = \"muon\""));
  std::string console;
  EXPECT_EQ(run_quietly(plan, out.path(), 2, &console).failed, 1u);
  EXPECT_TRUE(console.starts_with(run_id(plan.runs[0].spec) + " failed: ")) << console;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which turn the signal into a message
  EXPECT_NE(console.find("killed by signal 11 (Segmentation fault)"), std::string::npos) << console;
#endif
}

TEST(Runner, GivesUpWhenRecordsCannotBeWritten) {
  const test::TemporaryDirectory out;
  const Plan plan = plan_of(tiny_recipe("seeds = 50\n[settings]\naccident = \"full\""));
  const Outcome outcome = run_quietly(plan, out.path(), 1);
  EXPECT_EQ(outcome.write_error, "cannot write runs/x/metrics.csv: No space left on device");
  EXPECT_EQ(std::distance(fs::directory_iterator(out / "runs"), fs::directory_iterator()), 1);
}

TEST(Runner, RefusesAFolderItCannotWrite) {
  const test::TemporaryDirectory out;
  test::write_file(out / "file", "");
  EXPECT_EQ(test::error_of([&] { run_quietly(plan_of(tiny_recipe()), out / "file/x"); }),
            "cannot write " + (out / "file/x/runs") + ": Not a directory");
}

TEST(Runner, TwoProgramsDoNotShareAFolder) {
  const test::TemporaryDirectory out;
  {
    const FolderLock other(out.path());
    EXPECT_EQ(test::error_of([&] { run_quietly(plan_of(tiny_recipe()), out.path()); }),
              out.path() + ": another trasmuon process is writing there; wait for it or choose another --out");
  }
  EXPECT_EQ(run_quietly(plan_of(tiny_recipe()), out.path()).finished, 12u);
}

}  // namespace
}  // namespace trasmuon::lab
