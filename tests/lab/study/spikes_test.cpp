// SPDX-License-Identifier: Apache-2.0
#include "lab/study/spikes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace trasmuon::lab {
namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> flat(std::size_t count) { return std::vector<double>(count, 1.0); }

TEST(Spikes, ALossMustExceedTheThreshold) {
  std::vector<double> losses = flat(40);
  losses[30] = 1.4;
  EXPECT_EQ(find_spikes(losses).count, 0);
  losses[30] = std::nextafter(1.4, 2);
  EXPECT_EQ(find_spikes(losses).count, 1);
}

TEST(Spikes, ConsecutiveOnesAreOne) {
  std::vector<double> losses = flat(60);
  losses[30] = losses[31] = losses[32] = 5;
  losses[34] = 3;
  const Spikes spikes = find_spikes(losses);
  EXPECT_EQ(spikes.count, 2);
  EXPECT_DOUBLE_EQ(spikes.peak, 5);
}

TEST(Spikes, TheFirstWindowHasNone) {
  std::vector<double> losses = flat(40);
  losses[19] = 100;
  EXPECT_EQ(find_spikes(losses).count, 0);
  losses[20] = 100;
  EXPECT_EQ(find_spikes(losses).count, 1);
  EXPECT_EQ(find_spikes(flat(20)).count, 0);
  EXPECT_EQ(find_spikes(flat(20)).peak, 0);
  EXPECT_EQ(find_spikes({}).count, 0);
}

TEST(Spikes, TheMedianIsOfTheLossesBefore) {
  std::vector<double> losses;
  for (int i = 0; i < 20; ++i) losses.push_back(i < 10 ? 1 : 3);
  losses.push_back(4);  // median 2
  EXPECT_DOUBLE_EQ(find_spikes(losses).peak, 2);
  EXPECT_DOUBLE_EQ(find_spikes(std::vector<double>{1, 2, 9, 4}, {.threshold = 1.4, .window = 3}).peak, 2);
}

TEST(Spikes, AFallingLossMayJumpUnseen) {
  std::vector<double> losses;
  for (int i = 0; i < 100; ++i) losses.push_back(std::pow(0.9, i));
  losses[50] *= 2;  // still below the median of the 20 before
  EXPECT_EQ(find_spikes(losses).count, 0);
}

TEST(Spikes, WhatIsNotFiniteIsAboveEverything) {
  for (const double bad : {std::nan(""), kInfinity, -kInfinity}) {
    std::vector<double> losses = flat(60);
    losses[30] = bad;
    EXPECT_EQ(find_spikes(losses).count, 1) << bad;
    EXPECT_EQ(find_spikes(losses).peak, kInfinity) << bad;
    for (std::size_t i = 30; i < 60; ++i) losses[i] = bad;
    EXPECT_EQ(find_spikes(losses).count, 1) << bad;
  }
}

TEST(Spikes, ALossOfZeroIsNone) { EXPECT_EQ(find_spikes(std::vector<double>(40, 0.0)).count, 0); }

}  // namespace
}  // namespace trasmuon::lab
