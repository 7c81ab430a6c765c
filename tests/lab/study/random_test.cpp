// SPDX-License-Identifier: Apache-2.0
#include "lab/study/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <set>

namespace trasmuon::lab {
namespace {

TEST(Random, IsTheSameEverywhere) {
  Random random(7, 3);
  EXPECT_EQ(random.below(1000000), 148821);
  EXPECT_DOUBLE_EQ(random.uniform(), 0.17856839606478259);
  EXPECT_DOUBLE_EQ(random.normal(), 1.6187106825956046);
}

TEST(Random, SeedsAndStreamsDiffer) {
  std::set<double> first;
  for (const std::uint64_t seed : {0u, 1u, 2u}) {
    for (const std::uint32_t stream : {0u, 1u, 2u}) first.insert(Random(seed, stream).uniform());
  }
  first.insert(Random(std::uint64_t{1} << 40).uniform());  // the seed's upper half counts
  EXPECT_EQ(first.size(), 10u);
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  Random random(1);
  double sum = 0, squares = 0, fourths = 0;
  const int count = 100000;
  for (int i = 0; i < count; ++i) {
    const double x = random.normal();
    sum += x / count;
    squares += x * x / count;
    fourths += x * x * x * x / count;
  }
  EXPECT_NEAR(sum, 0, 0.015);
  EXPECT_NEAR(squares, 1, 0.02);
  EXPECT_NEAR(fourths, 3, 0.15);
}

TEST(HaarRotation, IsOrthogonal) {
  for (const int n : {1, 2, 7, 64}) {
    Random random(5);
    const std::vector<double> u = haar_rotation(n, random);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        double dot = 0;
        for (int k = 0; k < n; ++k) dot += u[i * n + k] * u[j * n + k];
        EXPECT_NEAR(dot, i == j ? 1 : 0, 1e-14) << n << " " << i << " " << j;
      }
    }
  }
}

TEST(HaarRotation, HasNoPreferredDirection) {
  const int n = 4, count = 4000;
  std::vector<double> sum(n * n), squares(n * n);
  Random random(6);
  for (int draw = 0; draw < count; ++draw) {
    const std::vector<double> u = haar_rotation(n, random);
    for (int i = 0; i < n * n; ++i) sum[i] += u[i] / count, squares[i] += u[i] * u[i] / count;
  }
  for (int i = 0; i < n * n; ++i) {
    EXPECT_NEAR(sum[i], 0, 0.04) << i;
    EXPECT_NEAR(squares[i], 1.0 / n, 0.02) << i;
  }
}

TEST(DistinctBelow, DrawsWithoutReplacement) {
  Random random(8);
  std::set<int> seen_first;
  for (int draw = 0; draw < 200; ++draw) {
    const std::vector<int> some = distinct_below(10, 3, random);
    ASSERT_EQ(some.size(), 3u);
    EXPECT_EQ(std::set(some.begin(), some.end()).size(), 3u);
    for (const int value : some) EXPECT_TRUE(value >= 0 && value < 10);
    seen_first.insert(some.front());
  }
  EXPECT_EQ(seen_first.size(), 10u);
}

TEST(DistinctBelow, EveryOrderIsEquallyLikely) {
  Random random(9);
  std::map<std::vector<int>, int> orders;
  for (int draw = 0; draw < 6000; ++draw) ++orders[distinct_below(3, 3, random)];
  EXPECT_EQ(orders.size(), 6u);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, 1000, 90);  // three standard deviations
}

}  // namespace
}  // namespace trasmuon::lab
