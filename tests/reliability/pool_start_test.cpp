// SPDX-License-Identifier: Apache-2.0
//
// The pool cannot start: each allocation fails in turn, or no thread can be created. Fewer threads, same results.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "cpu/thread_pool.h"
#include "trasmuon/threads.h"

namespace {
constexpr long kNever = -1;
std::atomic<long> allocations_left = kNever;
}  // namespace

// NOLINTBEGIN: replaces the functions of the standard library.
void* operator new(std::size_t bytes) {
  if (allocations_left != kNever && allocations_left-- == 0) {
    allocations_left = kNever;
    throw std::bad_alloc();
  }
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
// NOLINTEND

namespace trasmuon::cpu {
namespace {

class PoolStart : public testing::Test {
 protected:
  ~PoolStart() override { set_num_threads(before_); }

  /// Whether a parallel region does each of its tasks once.
  static bool region_works() {
    std::vector<std::atomic<int>> hits(100);
    parallel_for(100, [&](std::int64_t index) { ++hits[static_cast<std::size_t>(index)]; });
    for (const auto& hit : hits) {
      if (hit != 1) return false;
    }
    return true;
  }

  const int before_ = num_threads();
};

TEST_F(PoolStart, EachAllocationFailsInTurn) {
  for (long failing = 0; failing < 20; ++failing) {
    set_num_threads(1);
    std::atomic<int> done = 0;
    allocations_left = failing;
    set_num_threads(8);
    parallel_for(100, [&](std::int64_t) { ++done; });
    allocations_left = kNever;
    EXPECT_EQ(done, 100) << "allocation " << failing;
    EXPECT_TRUE(region_works()) << "after allocation " << failing;
  }
}

TEST_F(PoolStart, NoThreadCanBeCreated) {
  set_num_threads(1);
  pthread_attr_t usual, huge;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 47), 0);  // more than there are addresses
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  set_num_threads(8);
  EXPECT_TRUE(region_works());
  EXPECT_EQ(num_threads(), 8);
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);

  // Asking again tries again.
  set_num_threads(8);
  std::atomic<int> arrived = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  parallel_for(2, [&](std::int64_t) {
    ++arrived;
    while (arrived != 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    EXPECT_EQ(arrived, 2) << "the two tasks must run at the same time, on two threads";
  });
  pthread_attr_destroy(&usual);
  pthread_attr_destroy(&huge);
}

}  // namespace
}  // namespace trasmuon::cpu
