// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <vector>

#include "libtorch/watched_group.h"

namespace trasmuon::libtorch {

/// One rank of a test, in a process of its own.
struct Rank {
  int rank = 0;
  int ranks = 1;
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<WatchedGroup> group;  // Gloo on loopback
};

/// Processes that run `body`, one per rank. Several sets may run at once. The process that starts them must not have
/// started threads, so it must not compute with torch itself.
class RankProcesses {
 public:
  RankProcesses(int ranks, const std::function<void(Rank&)>& body,
                std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    if (mkdtemp(folder_) == nullptr) throw std::runtime_error("mkdtemp failed");
    std::fflush(nullptr);
    for (int r = 0; r < ranks; ++r) {
      const pid_t process = fork();
      if (process < 0) throw std::runtime_error("fork failed");
      if (process == 0) run({r, ranks, {}, {}}, body, timeout);
      processes_.push_back(process);
    }
  }
  RankProcesses(const RankProcesses&) = delete;

  /// Expects all ranks to pass but for those in `lost`, which may be stopped or dead and are ended here.
  void finish(const std::vector<int>& lost = {}) {
    const int ranks = static_cast<int>(processes_.size());
    for (int r = 0; r < ranks; ++r) {
      if (std::find(lost.begin(), lost.end(), r) != lost.end()) continue;
      int status = 0;
      EXPECT_EQ(waitpid(process(r), &status, 0), process(r));
      EXPECT_EQ(status, 0) << "rank " << r << " of " << ranks;
    }
    for (const int r : lost) {
      kill(process(r), SIGKILL);
      waitpid(process(r), nullptr, 0);
    }
    processes_.clear();
    unlink(store_file().c_str());
    rmdir(folder_);
  }

 private:
  pid_t process(int rank) const { return processes_[static_cast<std::size_t>(rank)]; }
  std::string store_file() const { return std::string(folder_) + "/store"; }

  [[noreturn]] void run(Rank self, const std::function<void(Rank&)>& body, std::chrono::milliseconds timeout) {
    alarm(180);
    setenv("TRASMUON_NUM_THREADS", "1", 1);  // the matrices are small
    try {
      self.store = c10::make_intrusive<c10d::FileStore>(store_file(), self.ranks);
      auto options = c10d::ProcessGroupGloo::Options::create(timeout);
      options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
      self.group = c10::make_intrusive<WatchedGroup>(
          c10::make_intrusive<c10d::ProcessGroupGloo>(self.store, self.rank, self.ranks, options));
      body(self);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << self.rank << " threw: " << error.what();
    }
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }

  char folder_[32] = "/tmp/trasmuon_ranks_XXXXXX";
  std::vector<pid_t> processes_;
};

/// Runs `body` on every rank and expects all to pass.
inline void run_ranks(int ranks, const std::function<void(Rank&)>& body) { RankProcesses(ranks, body).finish(); }

}  // namespace trasmuon::libtorch
