// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <vector>

namespace trasmuon::libtorch {

/// One rank of a test, in a process of its own.
struct Rank {
  int rank = 0;
  int ranks = 1;
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroup> group;  // Gloo on loopback
};

/// Runs `body` in `ranks` processes and expects all to pass, but for those in `lost`, which are ended here: they may be
/// stopped or dead. The process that calls it must not have started threads, so it must not compute with torch itself.
inline void run_ranks(int ranks, const std::function<void(Rank&)>& body, const std::vector<int>& lost = {},
                      std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  char folder[] = "/tmp/trasmuon_ranks_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string file = std::string(folder) + "/store";
  std::fflush(nullptr);
  std::vector<pid_t> processes;
  for (int r = 0; r < ranks; ++r) {
    const pid_t process = fork();
    ASSERT_GE(process, 0);
    if (process == 0) {
      alarm(120);
      setenv("TRASMUON_NUM_THREADS", "1", 1);  // the matrices are small
      try {
        Rank self{r, ranks, c10::make_intrusive<c10d::FileStore>(file, ranks), {}};
        auto options = c10d::ProcessGroupGloo::Options::create(timeout);
        options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
        self.group = c10::make_intrusive<c10d::ProcessGroupGloo>(self.store, r, ranks, options);
        body(self);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << r << " threw: " << error.what();
      }
      std::fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    processes.push_back(process);
  }
  const auto is_lost = [&](int r) { return std::find(lost.begin(), lost.end(), r) != lost.end(); };
  for (int r = 0; r < ranks; ++r) {
    if (is_lost(r)) continue;
    int status = 0;
    ASSERT_EQ(waitpid(processes[static_cast<std::size_t>(r)], &status, 0), processes[static_cast<std::size_t>(r)]);
    EXPECT_EQ(status, 0) << "rank " << r << " of " << ranks;
  }
  for (const int r : lost) {
    kill(processes[static_cast<std::size_t>(r)], SIGKILL);
    waitpid(processes[static_cast<std::size_t>(r)], nullptr, 0);
  }
  unlink(file.c_str());
  rmdir(folder);
}

}  // namespace trasmuon::libtorch
