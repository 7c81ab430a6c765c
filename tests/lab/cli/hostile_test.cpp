// SPDX-License-Identifier: Apache-2.0
// The program under what users do to it: full disks, closed streams, odd names, damaged records.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "lab/cli/program.h"
#include "lab/records/run_set.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Hostile : public testing::Test {
 protected:
  Hostile() {
    test::write_file(folder_ / "short.toml",
                     "study = \"mechanistic\"\nseeds = 2\n[settings]\ndim = 16\nsteps = 200\n[method.muon]\n"
                     "rule = \"muon\"\n[method.clip-sf]\nrule = \"trasmuon\"\n[part.table]\nkappa = [10, 100]\n");
  }

  /// Runs a bash script in the folder, where $T is the program, and returns its exit code.
  int bash(const std::string& script) {
    test::write_file(folder_ / "script", "T=" TRASMUON_PROGRAM "\ncd '" + folder_.path() + "'\n" + script + "\n");
    const int status = std::system(("bash '" + (folder_ / "script") + "' > '" + (folder_ / "said") + "' 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string said() { return test::read_file(folder_ / "said"); }

  const test::TemporaryDirectory folder_;
};

TEST_F(Hostile, ClosedAndFullStreamsDoNotStopARun) {
  EXPECT_EQ(bash("$T run short.toml --out full > /dev/full 2> /dev/full"), 0);
  EXPECT_EQ(bash("$T run short.toml --out closed <&- >&- 2>&-"), 0);
  EXPECT_EQ(bash("set -o pipefail; { $T run short.toml --out gone 2>&1; } | true"), 0) << said();
  for (const char* out : {"full", "closed", "gone"}) {
    EXPECT_EQ(load_runs(folder_ / out).finished(), 8u) << out;
    EXPECT_TRUE(test::read_file(folder_ / (std::string(out) + "/.lock")).empty());  // nothing was printed into a file
  }
  EXPECT_EQ(bash("$T report full > /dev/full 2>&-"), 0);
  EXPECT_TRUE(fs::exists(folder_ / "full/report.html"));
}

TEST_F(Hostile, ClosedAndFullStreamsDoNotHideAFailure) {
  EXPECT_EQ(bash("$T run short.toml --set kappa=-1 > /dev/full 2> /dev/full"), 1);
  EXPECT_EQ(bash("$T run nowhere >&- 2>&-"), 1);
  EXPECT_EQ(bash("$T run --nonsense >&- 2>&-"), 2);
  for (const char* command : {"list", "doctor", "--help", "list rules"}) {
    EXPECT_EQ(bash(std::string("$T ") + command + " > /dev/full"), 1) << command;
    EXPECT_EQ(said(), "trasmuon: cannot write to standard output: it is closed or full\n") << command;
  }
}

TEST_F(Hostile, AFileThatMayNotGrowIsNamed) {
  ASSERT_EQ(bash("$T run short.toml --out x --set steps=20"), 0) << said();
  EXPECT_EQ(bash("ulimit -f 4; $T run short.toml --out x --jobs 1"), 1);
  EXPECT_TRUE(contains(said(), "trasmuon: cannot write x/runs/muon-s0-")) << said();
  EXPECT_TRUE(contains(said(), "metrics.csv: File too large (it needs ")) << said();
  EXPECT_TRUE(contains(said(), "stopped with 0 of 8 runs finished; the same command continues")) << said();
}

TEST_F(Hostile, AFullDiskIsNamed) {
  const std::string disk = folder_ / "disk";
  fs::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "may not mount a small disk";
  const int run = bash("$T run short.toml --out disk/x --jobs 1");
  const std::string after_run = said();
  ::umount(disk.c_str());
  EXPECT_EQ(run, 1);
  EXPECT_TRUE(contains(after_run, "trasmuon: cannot write disk/x/runs/")) << after_run;
  EXPECT_TRUE(contains(after_run, ": No space left on device (it needs ")) << after_run;

  ASSERT_EQ(bash("$T run short.toml --out x"), 0) << said();
  ASSERT_EQ(::mount("none", disk.c_str(), "tmpfs", 0, "size=64k"), 0);
  const int report = bash("$T report x --out disk/r");
  const std::string after_report = said();
  ::umount(disk.c_str());
  EXPECT_EQ(report, 1);
  EXPECT_TRUE(contains(after_report, "trasmuon: cannot write disk/r/")) << after_report;
  EXPECT_TRUE(contains(after_report, " are free")) << after_report;
}

TEST_F(Hostile, DamagedRecordsAreLeftOutAndRepeated) {
  ASSERT_EQ(bash("$T run short.toml --out x && $T report x --out before && cp -r x y"), 0) << said();
  ASSERT_EQ(bash("cd x/runs; set -- *; : > $1/summary.json; rm $2/manifest.json; head -5 $3/metrics.csv > t; "
                 "mv t $3/metrics.csv"),
            0);
  EXPECT_EQ(bash("$T report x --out with-damage"), 0);
  EXPECT_TRUE(contains(said(), "damaged record, left out: x/runs/clip-sf-s0-")) << said();
  EXPECT_TRUE(contains(said(), "unfinished: 5 of 8 results so far\n")) << said();
  EXPECT_TRUE(contains(test::read_file(folder_ / "with-damage/report.md"),
                       "> **Left out because their records are damaged: 3 runs."));

  EXPECT_EQ(bash("$T run short.toml --out x"), 0);
  EXPECT_TRUE(contains(said(), "damaged record, the run is repeated: ")) << said();
  EXPECT_TRUE(contains(said(), "finished 3 runs in ")) << said();
  EXPECT_EQ(bash("for f in x/runs/*/metrics.csv x/runs/*/summary.json; do cmp $f y/${f#x/} || exit 1; done"), 0);
  EXPECT_EQ(bash("$T report x --out after && diff before/report.md after/report.md"), 0) << said();
}

TEST_F(Hostile, OddNamesWorkAndHintsCanBeTyped) {
  const std::string names = "name=$'it\\'s \"a\" \\n n\\303\\251 $(x) `y`'\n";
  EXPECT_EQ(bash(names + "cp short.toml \"$name.toml\" && $T run \"$name.toml\" --out \"-o $name\" > hints && "
                         "eval \"$(sed -n 's/^next: //p' hints)\" && test -f \"./-o $name/report.html\""),
            0)
      << said();
  EXPECT_EQ(bash("cp short.toml ./-x.toml; $T run -- -x.toml && $T report out/-x"), 0) << said();
  EXPECT_EQ(bash("cp short.toml $'\\377.toml'; $T run $'\\377.toml' && $T report $'out/\\377'"), 0) << said();
}

TEST_F(Hostile, ReportsIntoOneFolderAreWhole) {
  ASSERT_EQ(bash("$T run short.toml --out x && $T report x --out one"), 0) << said();
  EXPECT_EQ(bash("for i in 1 2 3 4; do $T report x --out many & reports=\"$reports $!\"; done\n"
                 "for report in $reports; do wait $report || exit 1; done\ndiff -r one many"),
            0)
      << said();
}

TEST_F(Hostile, MisspeltCommandsAndOptionsHaveASuggestion) {
  const auto error = [&](const std::vector<std::string>& arguments) {
    const Ended ended = run_program(folder_.path(), arguments);
    EXPECT_EQ(ended.code, 2);
    return ended.error;
  };
  const std::string more = "\nRun with --help for more information.\n";
  EXPECT_EQ(error({"rum"}), "trasmuon: there is no command 'rum'; did you mean 'run'?" + more);
  EXPECT_EQ(error({"reprot", "x"}), "trasmuon: there is no command 'reprot'; did you mean 'report'?" + more);
  EXPECT_EQ(error({"xyz"}),
            "trasmuon: there is no command 'xyz'; known: run, report, list, prepare, bench, doctor" + more);
  EXPECT_EQ(error({"run", "x", "--job", "3"}), "trasmuon: run has no option '--job'; did you mean '--jobs'?" + more);
  EXPECT_EQ(error({"report", "x", "--ot=y"}), "trasmuon: report has no option '--ot'; did you mean '--out'?" + more);
}

}  // namespace
}  // namespace trasmuon::lab
