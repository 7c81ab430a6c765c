// SPDX-License-Identifier: Apache-2.0
#include "lab/report/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trasmuon::lab {
namespace {

TEST(Human, HasTwoOrThreeDigits) {
  EXPECT_EQ(human(44), "44");
  EXPECT_EQ(human(48.5), "48.5");
  EXPECT_EQ(human(2.217), "2.22");
  EXPECT_EQ(human(0.8462), "0.85");
  EXPECT_EQ(human(0.9996), "1");
  EXPECT_EQ(human(123.4), "123");
  EXPECT_EQ(human(0), "0");
  EXPECT_EQ(human(-3.25), "-3.25");
}

TEST(Human, WritesLargeAndSmallWithAnExponent) {
  EXPECT_EQ(human(1.3e6), "1.3e6");
  EXPECT_EQ(human(999.6), "1.0e3");
  EXPECT_EQ(human(8e-3), "8.0e-3");
  EXPECT_EQ(human(-2.04e7), "-2.0e7");
}

TEST(Human, HasSignsForDivergedAndMissing) {
  EXPECT_EQ(human(std::numeric_limits<double>::infinity()), "∞");
  EXPECT_EQ(human(NAN), "–");
}

TEST(Plain, IsHowAPersonWritesASetting) {
  EXPECT_EQ(plain(1e4), "1e4");
  EXPECT_EQ(plain(2.5e6), "2.5e6");
  EXPECT_EQ(plain(100), "100");
  EXPECT_EQ(plain(0.85), "0.85");
  EXPECT_EQ(plain(8e-3), "8e-3");
  EXPECT_EQ(plain(2e-5), "2e-5");
  EXPECT_EQ(plain(0), "0");
}

TEST(Human, WritesFactorsRangesAndChances) {
  EXPECT_EQ(human_factor(5.84), "5.8");
  EXPECT_EQ(human_factor(1.114), "1.11");
  EXPECT_EQ(human_factor(27.7), "27.7");
  EXPECT_EQ(human_factor(8e4), "8.0e4");
  EXPECT_EQ(human_factor(0.62), "0.62");
  EXPECT_EQ(human_factor(0.0446), "0.045");
  EXPECT_EQ(times_lower(5.84), "5.8 times lower");
  EXPECT_EQ(times_lower(0.5), "2.0 times higher");
  EXPECT_EQ(times_lower(1.004), "no lower");
  EXPECT_EQ(human_range({4, 44, 35, 56}), "(35, 56)");
  EXPECT_EQ(human_p(0.2891), "p = 0.29");
  EXPECT_EQ(human_p(0.0078), "p = 0.008");
  EXPECT_EQ(human_p(3.1e-5), "p = 3e-5");
  EXPECT_EQ(human_p(1e-8), "p < 1e-6");
  EXPECT_EQ(human_percent(0.256), "26 %");
  EXPECT_EQ(of_seeds(1, 1), "1 of 1 seed");
  EXPECT_EQ(of_seeds(23, 24), "23 of 24 seeds");
}

}  // namespace
}  // namespace trasmuon::lab
