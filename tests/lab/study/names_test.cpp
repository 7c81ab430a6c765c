// SPDX-License-Identifier: Apache-2.0
#include "lab/study/names.h"

#include <gtest/gtest.h>

namespace trasmuon::lab {
namespace {

const std::vector<std::string> kKnown = {"steps", "kappa", "burst_factor", "burst_period"};

TEST(Suggestion, NamesTheNearest) {
  EXPECT_EQ(suggestion("kapa", kKnown), "; did you mean 'kappa'?");
  EXPECT_EQ(suggestion("step", kKnown), "; did you mean 'steps'?");
  EXPECT_EQ(suggestion("burst-period", kKnown), "; did you mean 'burst_period'?");
  EXPECT_EQ(suggestion("burst", kKnown), "; did you mean 'burst_factor'?");  // its beginning
}

TEST(Suggestion, ListsAllWhenNoneIsNear) {
  EXPECT_EQ(suggestion("widths", kKnown), "; known: steps, kappa, burst_factor, burst_period");
  EXPECT_EQ(suggestion("", kKnown), "; known: steps, kappa, burst_factor, burst_period");
  EXPECT_EQ(suggestion("x", {}), "; none are known");
}

}  // namespace
}  // namespace trasmuon::lab
