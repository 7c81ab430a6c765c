// SPDX-License-Identifier: Apache-2.0
#include "lab/report/statistics/stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trasmuon::lab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Quantile, IsThatOfNumpy) {
  const std::vector<double> values = {7, 1, 3, 10};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 9.1);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 10);
}

TEST(Quantile, OfOneValueIsIt) { EXPECT_EQ(quantile({4}, 0.75), 4); }

TEST(Quantile, OfNothingIsNaN) {
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
  EXPECT_TRUE(std::isnan(quantile({kNaN}, 0.5)));
}

TEST(Quantile, LeavesNaNOut) { EXPECT_EQ(quantile({kNaN, 1, 3, kNaN, 5}, 0.5), 3); }

TEST(Quantile, TakesInfinityForAValue) {
  EXPECT_EQ(quantile({1, 2, kInfinity}, 0.5), 2);
  EXPECT_EQ(quantile({1, 2, kInfinity}, 0.75), kInfinity);
  EXPECT_EQ(quantile({1, kInfinity, kInfinity}, 0.75), kInfinity);
  EXPECT_EQ(quantile({kInfinity, kInfinity}, 0.5), kInfinity);
}

TEST(Spread, CountsWhatIsThere) {
  const Spread spread = spread_of(std::vector<double>{3, kNaN, 1, 2, 4, 5});
  EXPECT_EQ(spread.count, 5u);
  EXPECT_EQ(spread.median, 3);
  EXPECT_EQ(spread.low, 2);
  EXPECT_EQ(spread.high, 4);
}

TEST(Spread, RangesOverlapWhereTheyTouch) {
  EXPECT_TRUE(overlap({2, 2, 1, 3}, {2, 4, 3, 5}));
  EXPECT_FALSE(overlap({2, 2, 1, 3}, {2, 4, 3.1, 5}));
  EXPECT_FALSE(overlap({2, 4, 3.1, 5}, {2, 2, 1, 3}));
}

TEST(SignTest, IsTheBinomialTest) {
  EXPECT_DOUBLE_EQ(sign_test(0, 0), 1);
  EXPECT_DOUBLE_EQ(sign_test(1, 0), 1);
  EXPECT_NEAR(sign_test(8, 0), 2 * 1.0 / 256, 1e-12);
  EXPECT_NEAR(sign_test(7, 1), 2 * 9.0 / 256, 1e-12);
  EXPECT_NEAR(sign_test(1, 7), 2 * 9.0 / 256, 1e-12);
  EXPECT_NEAR(sign_test(18, 6), 2 * 190051.0 / 16777216, 1e-12);  // sum of C(24, 0 .. 6), over 2^24
  EXPECT_DOUBLE_EQ(sign_test(4, 4), 1);
}

TEST(Compare, PairsBySeed) {
  const BySeed method = {{0, 1}, {1, 5}, {2, 3}, {7, 0}, {9, kNaN}},
               baseline = {{0, 2}, {1, 4}, {2, 3}, {8, 9}, {9, 1}};
  const Pairing pairing = compare(method, baseline);
  EXPECT_EQ(pairing.lower, 1u);
  EXPECT_EQ(pairing.higher, 1u);
  EXPECT_EQ(pairing.equal, 1u);
}

TEST(Compare, TwoDivergedRunsAreEqual) {
  const Pairing pairing = compare({{0, kInfinity}, {1, 1}}, {{0, kInfinity}, {1, kInfinity}});
  EXPECT_EQ(pairing.equal, 1u);
  EXPECT_EQ(pairing.lower, 1u);
}

TEST(Compare, MostlyIsThreeQuarters) {
  EXPECT_TRUE((Pairing{3, 1, 0}.mostly_lower()));
  EXPECT_FALSE((Pairing{3, 1, 1}.mostly_lower()));
  EXPECT_TRUE((Pairing{1, 3, 0}.mostly_higher()));
  EXPECT_TRUE((Pairing{6, 2, 0, 0.04}.clearly_lower()));
  EXPECT_FALSE((Pairing{6, 2, 0, 0.06}.clearly_lower()));
  EXPECT_FALSE((Pairing{5, 3, 0, 0.04}.clearly_lower()));
  EXPECT_TRUE((Pairing{2, 6, 0, 0.04}.clearly_higher()));
  EXPECT_FALSE(Pairing{}.mostly_lower());
  EXPECT_FALSE(Pairing{}.mostly_higher());
}

TEST(Ratios, AreOfSharedSeeds) {
  EXPECT_EQ(ratios({{0, 6}, {1, 8}}, {{1, 2}, {2, 1}}), (BySeed{{1, 4}}));
  EXPECT_EQ(differences({{0, 6}, {1, 8}}, {{1, 2}, {2, 1}}), (BySeed{{1, 6}}));
}

TEST(MeanDeviation, IsThatOfASample) {
  const MeanDeviation found = mean_deviation({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(found.count, 8u);
  EXPECT_DOUBLE_EQ(found.mean, 5);
  EXPECT_DOUBLE_EQ(found.deviation, std::sqrt(32.0 / 7));
  EXPECT_EQ(mean_deviation({3}).mean, 3);
  EXPECT_TRUE(std::isnan(mean_deviation({3}).deviation));
  EXPECT_TRUE(std::isnan(mean_deviation({}).mean));
}

}  // namespace
}  // namespace trasmuon::lab
