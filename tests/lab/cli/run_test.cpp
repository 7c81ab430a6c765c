// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "lab/cli/program.h"
#include "lab/records/run_set.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string recipe(int steps) {
  return "study = \"mechanistic\"\ntitle = \"A short one\"\nseeds = 2\n[settings]\ndim = 16\nsteps = " +
         std::to_string(steps) +
         "\n[method.muon]\nrule = \"muon\"\n[method.clip-sf]\nrule = \"trasmuon\"\nlr = 8e-3\n"
         "[part.table]\nkappa = [10, 100]\n";
}

template <class Condition>
bool comes_true(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(Run, RunsContinuesAndReports) {
  const test::TemporaryDirectory folder;
  test::write_file(folder / "short.toml", recipe(30));
  const Ended first = run_program(folder.path(), {"run", "short.toml"});
  EXPECT_EQ(first.code, 0) << first.error;
  EXPECT_TRUE(contains(first.out, "8 runs in ")) << first.out;
  EXPECT_TRUE(contains(first.out, "next: trasmuon report out/short\n")) << first.out;
  EXPECT_TRUE(first.error.starts_with("short: A short one\n")) << first.error;
  EXPECT_TRUE(contains(first.error, "100 %  8 of 8 runs\n")) << first.error;
  EXPECT_FALSE(contains(first.error, "\r"));  // no terminal

  const Ended again = run_program(folder.path(), {"run", "short.toml"});
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.out, "all 8 runs are already finished; records are in out/short\nnext: trasmuon report out/short\n");
  const Ended more = run_program(folder.path(), {"run", "--set", "seeds=3", "short.toml", "--jobs", "1"});
  EXPECT_TRUE(contains(more.out, "4 runs in ")) << more.out << more.error;
  const RunSet set = load_runs(folder / "out/short");
  EXPECT_EQ(set.command, "trasmuon run --set seeds=3 short.toml --jobs 1");
  EXPECT_EQ(set.groups.size(), 4u);
  EXPECT_EQ(set.groups[0].runs.size(), 3u);

  const Ended report = run_program(folder.path(), {"report", "out/short"});
  EXPECT_EQ(report.code, 0) << report.error;
  EXPECT_TRUE(contains(report.out, "written: out/short/report.html\n")) << report.out;
  EXPECT_TRUE(contains(report.out, "clip-sf        100 ")) << report.out;
  EXPECT_FALSE(contains(report.out, "unfinished"));
  EXPECT_TRUE(fs::exists(folder / "out/short/report.html"));
}

TEST(Run, OverridesAndPlacesAreChecked) {
  const test::TemporaryDirectory folder;
  test::write_file(folder / "short.toml", recipe(30));
  test::write_file(folder / "file", "");
  const auto error = [&](const std::vector<std::string>& arguments) {
    const Ended ended = run_program(folder.path(), arguments, {"TRASMUON_RECIPES=" + folder.path()});
    EXPECT_EQ(ended.code, 1);
    return ended.error;
  };
  EXPECT_EQ(error({"run", "short", "--set", "kappa=-3"}),
            "trasmuon: --set kappa=-3: mechanistic: kappa must be >= 1, got -3\n");
  EXPECT_EQ(error({"run", "shrt"}),
            "trasmuon: there is no recipe 'shrt', neither a file nor a known name; did you mean 'short'?\n");
  EXPECT_EQ(error({"run", "short", "--out", "file/x"}),
            "short: A short one\ntrasmuon: cannot write file/x/runs: Not a directory\n");
  EXPECT_EQ(error({"report", "out/none"}),
            "trasmuon: out/none: contains no runs (no plan.json); `trasmuon run` makes them\n");
}

TEST(Run, CtrlCStopsItAndTheSameCommandContinues) {
  const test::TemporaryDirectory folder;
  test::write_file(folder / "endless.toml", recipe(20'000'000) + "[part.short]\nsteps = 30\nkappa = 10\n");
  Program program(folder.path(), {"run", "endless.toml", "--out", "x", "--jobs", "2"});
  ASSERT_TRUE(comes_true([&] { return fs::exists(folder / "x/runs") && !fs::is_empty(folder / "x/runs"); }));
  const Ended second = run_program(folder / "x", {"run", "../endless.toml", "--out", "."});
  EXPECT_EQ(second.code, 1);
  EXPECT_TRUE(contains(second.error, "another trasmuon process is writing there")) << second.error;
  ::kill(program.process(), SIGINT);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, 130);
  EXPECT_EQ(ended.out, "stopped with 0 of 12 runs finished; the same command continues\n");

  const Ended report = run_program(folder.path(), {"report", "x"});
  EXPECT_EQ(report.code, 0) << report.error;
  EXPECT_TRUE(contains(report.out, "unfinished: 0 of 12 results so far\n")) << report.out;
}

}  // namespace
}  // namespace trasmuon::lab
