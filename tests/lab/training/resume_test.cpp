// SPDX-License-Identifier: Apache-2.0
// A run that is killed at any moment ends with the record of one that was left alone.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <random>
#include <thread>

#include "lab/records/checkpoint.h"
#include "lab/records/files.h"
#include "lab/runner/folder_lock.h"
#include "lab/support/plans.h"
#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

Plan training_plan(const std::string& method, int steps = 500, int ranks = 1) {
  return plan_of(fmt::format(
      "study = \"tiny-training\"\nseeds = 1\n[settings]\nsteps = {}\nbatch = 32\nmicro_batch = 16\neval_every = 50\n"
      "burst_period = 30\ncheckpoint_every = 7\nranks = {}\n[method.m]\n{}\n[part.all]\n",
      steps, ranks, method));
}

std::string run_folder(const Plan& plan, const std::string& out) {
  return out + "/runs/" + run_id(plan.runs.front().spec);
}

/// The run's files and texts, without what tells the time.
std::map<std::string, std::string> record_of(const std::string& folder) {
  std::map<std::string, std::string> texts;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name == "summary.json") {
      Json summary = read_json(entry.path());
      for (const char* time : {"ms_per_step", "items_per_second", "optimizer_share", "mfu"}) summary.erase(time);
      texts[name] = summary.dump();
    } else {
      texts[name] = name == "manifest.json" ? read_json(entry.path()).at("spec").dump() : test::read_file(entry.path());
    }
  }
  return texts;
}

/// Starts the program's part that does runs, in a process of its own.
pid_t run_apart(const Plan& plan, const std::string& out) {
  const pid_t process = ::fork();
  if (process != 0) return process;
  run_quietly(plan, out, 1);
  ::_exit(0);
}

/// The run dies with the process that started it, see reset_signals; a moment later the folder is free.
void kill_both(pid_t process, const std::string& out) {
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  for (int i = 0; i < 2000; ++i) {
    if (test::error_of([&] { FolderLock{out}; }) == "no error") return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// Kills it after that time; returns whether it had ended before.
bool kill_after(pid_t process, std::chrono::milliseconds time, const std::string& out) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    if (::waitpid(process, nullptr, WNOHANG) == process) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill_both(process, out);
  return false;
}

void expect_undisturbed_record(const Plan& plan, std::mt19937& random) {
  const test::TemporaryDirectory left_alone, disturbed;
  ASSERT_EQ(run_quietly(plan, left_alone.path(), 1).finished, 1u);
  const auto expected = record_of(run_folder(plan, left_alone.path()));
  ASSERT_EQ(expected.count("summary.json"), 1u);
  EXPECT_EQ(expected.count("checkpoint"), 0u);  // not needed any more

  int kills = 0;
  bool ended = false;
  for (; kills < 8 && !ended; ++kills)
    ended =
        kill_after(run_apart(plan, disturbed.path()), std::chrono::milliseconds(30 + random() % 100), disturbed.path());
  ASSERT_EQ(run_quietly(plan, disturbed.path(), 1).failed, 0u);
  EXPECT_GT(kills, 2);
  EXPECT_EQ(record_of(run_folder(plan, disturbed.path())), expected);
}

TEST(Resume, AfterSigkillAtAnyMomentTheRecordIsThatOfAnUndisturbedRun) {
  std::mt19937 random(12);
  for (const std::string method : {"rule = \"trasmuon\"", "rule = \"dion\""})
    expect_undisturbed_record(training_plan(method), random);
}

#ifdef TRASMUON_TEST_RANKS
TEST(Resume, AfterSigkillOverRanksToo) {
  std::mt19937 random(13);
  expect_undisturbed_record(training_plan("rule = \"trasmuon\"", 200, 2), random);
}
#endif

/// A folder with a run that was killed after its first checkpoint.
std::string interrupted(const Plan& plan, const test::TemporaryDirectory& out) {
  const std::string folder = run_folder(plan, out.path());
  const pid_t process = run_apart(plan, out.path());
  while (!fs::exists(checkpoint_file(folder))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill_both(process, out.path());
  return folder;
}

class DamagedCheckpoint : public testing::TestWithParam<const char*> {};

TEST_P(DamagedCheckpoint, IsNamedAndTheRunStartsAnew) {
  const test::TemporaryDirectory out;
  const Plan plan = training_plan("rule = \"muon\"", 300);
  const std::string folder = interrupted(plan, out), file = checkpoint_file(folder).string(), damage = GetParam();
  std::string text = test::read_file(file), named = file;
  if (damage == "cut") text.resize(text.size() / 2);
  if (damage == "empty") text.clear();
  if (damage == "bit") text[text.size() / 3] ^= 1;
  test::write_file(file, text);
  if (damage == "table") test::write_file(named = folder + "/metrics.csv", "step\n");
  if (damage == "manifest") fs::remove(named = folder + "/manifest.json");

  std::string console;
  ASSERT_EQ(run_quietly(plan, out.path(), 1, &console).finished, 1u);
  EXPECT_NE(console.find("damaged checkpoint, the run starts anew"), std::string::npos) << console;
  EXPECT_NE(console.find(named), std::string::npos) << console;
  EXPECT_FALSE(read_json(folder + "/manifest.json").contains("continued"));
}

INSTANTIATE_TEST_SUITE_P(Ways, DamagedCheckpoint, testing::Values("cut", "empty", "bit", "table", "manifest"));

TEST(Resume, IsNotedInTheManifest) {
  const test::TemporaryDirectory out;
  const Plan plan = training_plan("rule = \"muon\"", 400);
  const std::string folder = interrupted(plan, out);
  ASSERT_EQ(run_quietly(plan, out.path(), 1).finished, 1u);
  EXPECT_EQ(read_json(folder + "/manifest.json").at("continued").size(), 1u);
}

}  // namespace
}  // namespace trasmuon::lab
