// SPDX-License-Identifier: Apache-2.0
#include "lab/data/prefetch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

namespace trasmuon::lab {
namespace {

TEST(Prefetch, GivesItemsInOrderWithAnyNumberOfThreads) {
  for (const int threads : {1, 2, 5}) {
    Prefetch<std::string> items(threads, 3, [](std::int64_t position) {
      if (position % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));  // later ones overtake it
      return std::to_string(position);
    });
    for (std::int64_t position = 7; position < 200; ++position)
      ASSERT_EQ(items.get(position), std::to_string(position));
  }
}

TEST(Prefetch, IsBounded) {
  std::atomic<std::int64_t> furthest = -1;
  Prefetch<std::int64_t> items(4, 5, [&](std::int64_t position) {
    std::int64_t before = furthest;
    while (before < position && !furthest.compare_exchange_weak(before, position)) {
    }
    return position;
  });
  for (std::int64_t position = 0; position < 50; ++position) {
    items.get(position);
    ASSERT_LE(furthest, position + 5);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(furthest, 54);  // and it does work ahead
}

TEST(Prefetch, StartsAfreshElsewhere) {
  Prefetch<std::int64_t> items(3, 4, [](std::int64_t position) { return position * position; });
  for (const std::int64_t position : {5, 6, 7, 100, 101, 3, 3, 4}) EXPECT_EQ(items.get(position), position * position);
}

TEST(Prefetch, ThrowsAtTheBadItemAndGoesOn) {
  Prefetch<std::int64_t> items(3, 8, [](std::int64_t position) {
    if (position == 5) throw std::runtime_error("bad.jpg");
    return position;
  });
  for (std::int64_t position = 0; position < 5; ++position) EXPECT_EQ(items.get(position), position);
  EXPECT_THROW(items.get(5), std::runtime_error);
  EXPECT_EQ(items.get(6), 6);
}

TEST(Prefetch, EndsWhileItemsAreMade) {
  for (int i = 0; i < 20; ++i) {
    Prefetch<std::int64_t> items(2, 4, [](std::int64_t position) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return position;
    });
    if (i % 2 == 0) items.get(0);
  }
}

}  // namespace
}  // namespace trasmuon::lab
