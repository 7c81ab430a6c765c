// SPDX-License-Identifier: Apache-2.0
#include "cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/error_of.h"
#include "trasmuon/threads.h"

namespace trasmuon::cpu {
namespace {

class Threads : public testing::Test {
 protected:
  int before = num_threads();
  void TearDown() override { set_num_threads(before); }
};

TEST_F(Threads, EveryIndexRunsOnce) {
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    for (std::int64_t count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> hits(static_cast<std::size_t>(count));
      parallel_for(count, [&](std::int64_t i) { ++hits[static_cast<std::size_t>(i)]; });
      for (const auto& hit : hits) EXPECT_EQ(hit, 1);
    }
  }
}

TEST_F(Threads, NestedRegionsAndOtherThreadsRunInline) {
  set_num_threads(3);
  std::atomic<int> total = 0;
  auto nested = [&] { parallel_for(10, [&](std::int64_t) { parallel_for(10, [&](std::int64_t) { ++total; }); }); };
  std::thread other(nested);
  nested();
  other.join();
  EXPECT_EQ(total, 200);
}

TEST_F(Threads, AnExceptionReachesTheCallerAndThePoolSurvives) {
  set_num_threads(3);
  for (int round = 0; round < 50; ++round) {
    EXPECT_THROW(parallel_for(100,
                              [&](std::int64_t i) {
                                if (i == 42) throw std::runtime_error("boom");
                              }),
                 std::runtime_error);
  }
  std::atomic<int> total = 0;
  parallel_for(100, [&](std::int64_t) { ++total; });
  EXPECT_EQ(total, 100);
}

TEST_F(Threads, OutOfRangeCountsAreRefused) {
  EXPECT_EQ(test::error_of([] { set_num_threads(0); }), "trasmuon: threads must be in [1, 1024], got 0");
  EXPECT_EQ(num_threads(), before);
}

}  // namespace
}  // namespace trasmuon::cpu
