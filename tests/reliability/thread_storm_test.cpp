// SPDX-License-Identifier: Apache-2.0
//
// Many threads with an optimizer each, while others set the number of threads: all get the bits of one thread alone.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "reliability/trajectory.h"

namespace trasmuon::test {
namespace {

class ThreadStorm : public testing::Test {
 protected:
  static constexpr int kTrainers = 5, kRounds = 4;

  ~ThreadStorm() override { set_num_threads(before_); }

  /// Trains models in kTrainers threads; each calls between(step) before a step.
  template <class Between>
  int wrong_trajectories(Between between) {
    std::atomic<int> wrong = 0;
    std::vector<std::thread> trainers;
    for (int trainer = 0; trainer < kTrainers; ++trainer) {
      trainers.emplace_back([&] {
        for (int round = 0; round < kRounds; ++round) wrong += !expected_.holds(between);
      });
    }
    for (auto& trainer : trainers) trainer.join();
    return wrong;
  }

  const int before_ = num_threads();
  const Trajectory expected_{4};
};

TEST_F(ThreadStorm, EachThreadHasItsOwnOptimizer) {
  set_num_threads(3);
  EXPECT_EQ(wrong_trajectories([](int) {}), 0);
}

TEST_F(ThreadStorm, EachThreadSetsTheNumberOfThreadsBetweenItsSteps) {
  std::atomic<int> turn = 0;
  EXPECT_EQ(wrong_trajectories([&](int) { set_num_threads(1 + turn++ % 5); }), 0);
}

TEST_F(ThreadStorm, AnotherThreadSetsTheNumberOfThreadsAllTheTime) {
  std::atomic<bool> stop = false;
  std::thread setting([&] {
    for (int round = 0; !stop; ++round) {
      set_num_threads(1 + round % 7);
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(wrong_trajectories([](int) {}), 0);
  stop = true;
  setting.join();
}

TEST_F(ThreadStorm, ThreadsThatStepComeAndGo) {
  set_num_threads(3);
  for (int round = 0; round < 100; ++round) {
    std::thread([] { Model(tiny()).train(0); }).join();
    std::thread([] { Model(every_rule()).train(0); }).join();
  }
  EXPECT_TRUE(expected_.holds());
}

}  // namespace
}  // namespace trasmuon::test
