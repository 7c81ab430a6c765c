// SPDX-License-Identifier: Apache-2.0
#include "lab/training/ranks/rank_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <new>

#include "support/error_of.h"

namespace trasmuon::lab {
namespace {

std::string failure_of(int ranks, const std::function<void(int)>& work) {
  return test::error_of([&] { run_ranks(ranks, work); });
}

void expect_no_processes_left() {
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

[[noreturn]] void wait_forever() {
  for (;;) ::pause();
}

TEST(RankProcesses, EveryRankWorksAndAllAreAwaited) {
  void* memory = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& sum = *::new (memory) std::atomic<int>(0);
  const pid_t here = ::getpid();
  run_ranks(4, [&](int rank) {
    EXPECT_EQ(rank == 0, ::getpid() == here);
    sum += 1 << rank;
  });
  EXPECT_EQ(sum, 15);
  expect_no_processes_left();
  ::munmap(memory, sizeof(std::atomic<int>));
}

TEST(RankProcesses, AFailureNamesItsRankAndEndsTheOthers) {
  const std::string failure = failure_of(3, [](int rank) {
    if (rank == 1) throw Error("out of paper");
    if (rank == 2) wait_forever();
    ::usleep(100'000);
    throw LostRank("connection closed");
  });
  EXPECT_EQ(failure, "rank 1: out of paper");
  expect_no_processes_left();
}

TEST(RankProcesses, TheCauseIsNamedAndNotWhatFollowsFromIt) {
  const std::string failure = failure_of(3, [](int rank) {
    if (rank == 2) ::raise(SIGKILL);
    ::usleep(50'000);
    throw LostRank("connection closed");
  });
  EXPECT_EQ(failure, "rank 2: killed by signal 9 (Killed)");
}

TEST(RankProcesses, TheFirstRankSpeaksForItself) {
  const std::string failure = failure_of(2, [](int rank) {
    if (rank == 0) throw Error("disk full");
    wait_forever();
  });
  EXPECT_EQ(failure, "disk full");
  EXPECT_EQ(failure_of(1, [](int) { throw LostRank("alone"); }), "alone");
  expect_no_processes_left();
}

TEST(RankProcesses, AFailureAfterTheFirstRankHasEndedCountsToo) {
  EXPECT_EQ(failure_of(2,
                       [](int rank) {
                         if (rank == 1) throw Error("late");
                       }),
            "rank 1: late");
}

}  // namespace
}  // namespace trasmuon::lab
