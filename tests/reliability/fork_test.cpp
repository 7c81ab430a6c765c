// SPDX-License-Identifier: Apache-2.0
//
// A child of fork has none of the pool's threads. It must get a pool of its own, wherever the parent's threads were.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#include "reliability/child.h"
#include "reliability/trajectory.h"
#include "support/temporary_directory.h"

namespace trasmuon::test {
namespace {

// A child may find the allocator of AddressSanitizer locked by a thread of the parent; glibc's unlocks itself.
#if defined(__SANITIZE_ADDRESS__)
#define SKIP_WITHOUT_FORK_SAFE_MALLOC() GTEST_SKIP() << "AddressSanitizer's allocator does not survive this fork"
#else
#define SKIP_WITHOUT_FORK_SAFE_MALLOC()
#endif

class Fork : public testing::Test {
 protected:
  Fork() { set_num_threads(3); }
  ~Fork() override { set_num_threads(before_); }

  /// Steps a model of its own until destroyed.
  class SteppingThread {
   public:
    SteppingThread() : thread_([this] { run(); }) {
      while (steps_ == 0) std::this_thread::yield();
    }
    ~SteppingThread() {
      stop_ = true;
      thread_.join();
    }

   private:
    void run() {
      Model model(small_and_large());
      while (!stop_) {
        model.train(0);
        ++steps_;
      }
    }
    std::atomic<bool> stop_ = false;
    std::atomic<int> steps_ = 0;
    std::thread thread_;
  };

  static int forks_per_test() {
    const char* text = std::getenv("TRASMUON_FORKS");
    return text == nullptr ? 50 : std::atoi(text);
  }

  const int forks_ = forks_per_test();
  const int before_ = num_threads();
  const Trajectory expected_{3};
  const TemporaryDirectory folder_;
};

TEST_F(Fork, RightAfterAStepTheChildTakesTheNextStep) {
  Model model(small_and_large());
  model.train(0);
  for (int round = 0; round < forks_; ++round) {
    Model other(small_and_large());
    other.train(0);  // the workers are about to sleep, or about to lock
    ASSERT_EQ(run_in_child([&] {
                model.train(1);
                other.train(1);
                return model.snapshot() == expected_.after(2) && other.snapshot() == expected_.after(2);
              }),
              "")
        << "round " << round;
  }
  model.train(1);
  EXPECT_EQ(model.snapshot(), expected_.after(2)) << "in the parent";
}

TEST_F(Fork, TheChildSetsThreads) {
  Model model(small_and_large());
  model.train(0);
  for (int round = 0; round < forks_; ++round) {
    Model(small_and_large()).train(0);
    ASSERT_EQ(run_in_child([&] {
                set_num_threads(1 + round % 4);
                model.train(1);
                return model.snapshot() == expected_.after(2) &&
                       expected_.holds([](int step) { set_num_threads(4 - step); });
              }),
              "")
        << "round " << round;
  }
}

TEST_F(Fork, TheChildSavesAndLoads) {
  Model model(small_and_large());
  model.train(0);
  const std::string of_parent = folder_ / "parent";
  save_checkpoint(model.optimizer(), of_parent);
  for (int round = 0; round < forks_; ++round) {
    Model(small_and_large()).train(0);
    ASSERT_EQ(run_in_child([&] {
                const std::string of_child = folder_ / "child";
                model.train(1);
                save_checkpoint(model.optimizer(), of_child);
                load_checkpoint(model.optimizer(), of_parent);
                if (model.snapshot().state != expected_.after(1).state) return false;
                load_checkpoint(model.optimizer(), of_child);
                return model.snapshot() == expected_.after(2);
              }),
              "")
        << "round " << round;
  }
}

TEST_F(Fork, WhileAnotherThreadStepsTheChildUsesOtherOptimizers) {
  SKIP_WITHOUT_FORK_SAFE_MALLOC();
  Model model(small_and_large());
  const SteppingThread stepping;
  for (int round = 0; round < forks_; ++round) {
    ASSERT_EQ(run_in_child([&] {
                model.train(0);
                return model.snapshot() == expected_.after(1) &&
                       expected_.holds([](int step) { set_num_threads(4 - step); });
              }),
              "")
        << "round " << round;
  }
}

TEST_F(Fork, WhileAnotherThreadSetsThreadsTheChildUsesItsOwn) {
  SKIP_WITHOUT_FORK_SAFE_MALLOC();
  std::atomic<bool> stop = false;
  std::thread setting([&] {
    for (int round = 0; !stop; ++round) {
      set_num_threads(2 + round % 3);
      Model(tiny()).train(0);
    }
  });
  for (int round = 0; round < forks_; ++round) {
    EXPECT_EQ(run_in_child([&] { return expected_.holds([](int step) { set_num_threads(2 + step); }); }), "")
        << "round " << round;
    if (HasFailure()) break;
  }
  stop = true;
  setting.join();
}

TEST_F(Fork, GrandchildrenStepToo) {
  SKIP_WITHOUT_FORK_SAFE_MALLOC();
  for (int round = 0; round < forks_ / 5; ++round) {
    ASSERT_EQ(run_in_child([&] {
                // The first use of the pool in this process, on one thread, while the other one forks.
                std::thread first([&] { Model(small_and_large()).train(0); });
                const std::string grandchild = run_in_child([&] { return expected_.holds(); });
                first.join();
                return grandchild.empty() && expected_.holds();
              }),
              "")
        << "round " << round;
  }
}

TEST_F(Fork, TheChildHasAsManyThreadsAsTheParent) {
  Model(small_and_large()).train(0);
  EXPECT_EQ(run_in_child([] { return num_threads() == 3; }), "");
  EXPECT_EQ(run_in_child([&] {
              // The child started two workers of its own.
              Model(small_and_large()).train(0);
              return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}) == 3;
            }),
            "");
}

}  // namespace
}  // namespace trasmuon::test
