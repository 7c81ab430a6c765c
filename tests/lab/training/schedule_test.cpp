// SPDX-License-Identifier: Apache-2.0
#include "lab/training/schedule.h"

#include <gtest/gtest.h>

namespace trasmuon::lab {
namespace {

TEST(Schedule, RisesStaysAndFalls) {
  const Schedule schedule{.steps = 100, .warmup = 0.1, .decay = 0.2};
  EXPECT_DOUBLE_EQ(schedule.factor(0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.factor(8), 0.9);
  for (int step = 9; step < 80; ++step) EXPECT_EQ(schedule.factor(step), 1) << step;
  EXPECT_DOUBLE_EQ(schedule.factor(80), 20.0 / 21);
  EXPECT_DOUBLE_EQ(schedule.factor(99), 1.0 / 21);
}

TEST(Schedule, WithoutWarmUpIsTheSameAfterIt) {
  const Schedule with{.steps = 1500, .warmup = 0.1, .decay = 0.2}, without{.steps = 1500, .warmup = 0, .decay = 0.2};
  for (int step = 0; step < 1500; ++step) {
    EXPECT_EQ(with.factor(step) < without.factor(step), step < 149);
    EXPECT_LE(with.factor(step), without.factor(step));
    EXPECT_EQ(without.factor(step) == 1, step < 1200);
  }
}

TEST(Schedule, NeverLeavesZeroToOne) {
  for (const int steps : {1, 2, 3, 7, 300}) {
    for (const double warmup : {0.0, 0.01, 0.5, 1.0}) {
      const Schedule schedule{.steps = steps, .warmup = warmup, .decay = 1 - warmup};
      for (int step = 0; step < steps; ++step) {
        EXPECT_GT(schedule.factor(step), 0);
        EXPECT_LE(schedule.factor(step), 1);
      }
    }
  }
}

}  // namespace
}  // namespace trasmuon::lab
