// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "lab/support/plans.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

/// Runs the plan in a process of its own; its exit code tells the signal that ended it, plus 100.
pid_t run_apart(const Plan& plan, const std::string& out) {
  const pid_t process = ::fork();
  if (process != 0) return process;
  const Outcome outcome = run_quietly(plan, out);
  ::_exit(outcome.signal == 0 ? 0 : 100 + outcome.signal);
}

template <class Condition>
bool comes_true(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// The processes whose parent is this one.
std::vector<pid_t> children_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(process) + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

bool is_alive(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string number, name, state;
  return (file >> number >> name >> state) && state != "Z";
}

class Interrupt : public testing::TestWithParam<int> {};

TEST_P(Interrupt, EndsTheRunsAndFreesTheFolder) {
  const test::TemporaryDirectory out;
  const std::string recipe = tiny_recipe("seeds = 1\n[settings]\npause = 20", "steps = [1, 2]");
  const Plan slow = plan_of(recipe);
  const pid_t process = run_apart(slow, out.path());
  ASSERT_TRUE(comes_true([&] { return children_of(process).size() == 2; }));
  const std::vector<pid_t> runs = children_of(process);
  // Not before a run has begun: a later moment is the harder one.
  ASSERT_TRUE(comes_true([&] { return fs::exists(out / ("runs/" + run_id(slow.runs[0].spec) + "/manifest.json")); }));
  ::kill(process, GetParam());
  int status = 0;
  ASSERT_EQ(::waitpid(process, &status, 0), process);
  if (GetParam() == SIGKILL) EXPECT_TRUE(WIFSIGNALED(status));
  else EXPECT_EQ(WEXITSTATUS(status), 100 + GetParam());
  for (const pid_t run : runs) EXPECT_TRUE(comes_true([&] { return !is_alive(run); }));

  // Nothing looks finished, and the folder is free. Without the pause these are other runs, but it takes less time.
  for (const PlannedRun& run : slow.runs)
    EXPECT_FALSE(fs::exists(out / ("runs/" + run_id(run.spec) + "/summary.json")));
  EXPECT_EQ(run_quietly(plan_of(recipe, {"pause=0"}), out.path()).finished, 4u);
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupt, testing::Values(SIGINT, SIGTERM, SIGKILL));

}  // namespace
}  // namespace trasmuon::lab
