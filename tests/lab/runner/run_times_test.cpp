// SPDX-License-Identifier: Apache-2.0
#include "lab/runner/run_times.h"

#include <gtest/gtest.h>

#include <vector>

namespace trasmuon::lab {
namespace {

using Running = std::vector<RunTimes::Running>;

TEST(RunTimes, KnowNothingAtFirst) {
  RunTimes times;
  times.expect("a");
  EXPECT_FALSE(times.remaining(Running{}, 2));
  EXPECT_FALSE(times.remaining(Running{{"a", 5, 0.001}}, 2));
}

TEST(RunTimes, UseFractionsInFlight) {
  RunTimes times;
  for (int i = 0; i < 4; ++i) times.expect("a");
  times.start("a");
  // A quarter in 5 s: 15 s to go here, 3 more runs of 20 s.
  EXPECT_DOUBLE_EQ(*times.remaining(Running{{"a", 5, 0.25}}, 1), 75);
  EXPECT_DOUBLE_EQ(*times.remaining(Running{{"a", 5, 0.25}}, 2), 37.5);
}

TEST(RunTimes, KeepKindsOfDifferentLengthApart) {
  RunTimes times;
  for (int i = 0; i < 100; ++i) times.expect("short");
  for (int i = 0; i < 3; ++i) times.expect("long");
  for (int i = 0; i < 100; ++i) {
    times.start("short");
    times.finish("short", 1);
  }
  times.start("long");
  // One mean over all runs would say 2 s; in flight we see 100 s a run.
  EXPECT_DOUBLE_EQ(*times.remaining(Running{{"long", 10, 0.1}}, 1), 290);
}

TEST(RunTimes, GuessAnUnseenKindFromTheOthers) {
  RunTimes times;
  for (const char* kind : {"a", "b", "c"}) times.expect(kind);
  times.start("a");
  times.finish("a", 10);
  times.start("b");
  times.finish("b", 30);
  EXPECT_DOUBLE_EQ(*times.remaining(Running{}, 1), 20);
}

TEST(RunTimes, AreNoLessThanTheLongestRunAtWork) {
  RunTimes times;
  for (int i = 0; i < 2; ++i) times.expect("a"), times.start("a");
  EXPECT_DOUBLE_EQ(*times.remaining(Running{{"a", 1, 0.5}, {"a", 10, 0.1}}, 8), 90);
  EXPECT_DOUBLE_EQ(*times.remaining(Running{{"a", 10, 1.0}}, 8), 0);
}

}  // namespace
}  // namespace trasmuon::lab
