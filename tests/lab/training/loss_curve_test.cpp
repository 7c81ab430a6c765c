// SPDX-License-Identifier: Apache-2.0
#include "lab/training/loss_curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trasmuon::lab {
namespace {

using Values = std::vector<double>;

TEST(Smoothed, HasNoBiasAtItsStart) {
  for (const double value : smoothed(Values(50, 3.0), 0.9)) EXPECT_NEAR(value, 3, 1e-12);
  const Values curve = smoothed(Values{4, 1}, 0.5);
  EXPECT_EQ(curve[0], 4);
  EXPECT_DOUBLE_EQ(curve[1], (0.5 * 4 + 1) / 1.5);
  EXPECT_EQ(smoothed(Values{4, 1, 7}, 0), (Values{4, 1, 7}));
}

TEST(Smoothed, StaysInfiniteAfterALossThatIsNoNumber) {
  const Values curve = smoothed(Values{4, std::nan(""), 1}, 0.1);
  EXPECT_EQ(curve[1], std::numeric_limits<double>::infinity());
  EXPECT_EQ(curve[2], std::numeric_limits<double>::infinity());
}

TEST(FirstStepAt, FindsTheFirst) {
  EXPECT_EQ(first_step_at(Values{9, 8, 6.9, 7.5, 6}, 7), 2);
  EXPECT_EQ(first_step_at(Values{7}, 7), 0);
  EXPECT_TRUE(std::isnan(first_step_at(Values{9, 8}, 7)));
  EXPECT_TRUE(std::isnan(first_step_at(Values{}, 7)));
}

TEST(LateMean, IsOfTheLastTwentieth) {
  Values losses(100, 5.0);
  for (int i = 95; i < 100; ++i) losses[i] = i;
  EXPECT_EQ(late_mean(losses), 97);
  EXPECT_EQ(late_mean(Values{3, 2}), 2);
}

}  // namespace
}  // namespace trasmuon::lab
