// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/ownership.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "support/error_of.h"

namespace trasmuon::test {
namespace {

/// The least possible largest load, by trying everything.
double best_largest(std::span<const double> costs, std::vector<double>& loads, double bound) {
  if (costs.empty()) return *std::max_element(loads.begin(), loads.end());
  for (std::size_t r = 0; r < loads.size(); ++r) {
    if (std::find(loads.begin(), loads.begin() + static_cast<std::ptrdiff_t>(r), loads[r]) !=
        loads.begin() + static_cast<std::ptrdiff_t>(r))
      continue;  // the same as an earlier rank
    if (loads[r] + costs[0] >= bound) continue;
    loads[r] += costs[0];
    bound = std::min(bound, best_largest(costs.subspan(1), loads, bound));
    loads[r] -= costs[0];
  }
  return bound;
}

double mean_load(const std::vector<double>& costs, int ranks) {
  return std::accumulate(costs.begin(), costs.end(), 0.0) / ranks;
}

TEST(Ownership, TheMostExpensiveFirstToTheRankWithTheLeast) {
  const Ownership plan = assign_owners(std::vector<double>{1, 5, 4, 2}, 2);
  EXPECT_EQ(plan.owners, (std::vector{0, 0, 1, 1}));
  EXPECT_EQ(plan.loads, (std::vector{6.0, 6.0}));
  EXPECT_EQ(plan.balance, 1);
  EXPECT_EQ(plan.idle, 0);
}

TEST(Ownership, ExchangesMendWhatTheOrderSpoils) {
  // 3 2 2 against 3 2 is what the order alone gives.
  EXPECT_EQ(assign_owners(std::vector<double>{3, 3, 2, 2, 2}, 2).balance, 1);
}

TEST(Ownership, SaysHowManyRanksAreIdle) {
  const Ownership few = assign_owners(std::vector<double>{1, 1}, 5);
  EXPECT_EQ(few.idle, 3);
  EXPECT_EQ(few.balance, 2.5);
  const Ownership none = assign_owners({}, 3);
  EXPECT_EQ(none.idle, 3);
  EXPECT_EQ(none.balance, 1);
}

TEST(Ownership, IsBalancedWhereThatIsPossible) {
  std::mt19937_64 rng(1);
  int possible = 0, missed = 0;
  for (int round = 0; round < 2000; ++round) {
    const int ranks = std::uniform_int_distribution(1, 4)(rng);
    std::vector<double> costs(std::uniform_int_distribution<std::size_t>(1, 11)(rng));
    const auto side = [&] { return std::int64_t{64} << std::uniform_int_distribution(0, 5)(rng); };
    for (double& cost : costs) cost = iteration_cost(side(), side(), 5);
    const Ownership plan = assign_owners(costs, ranks);
    std::vector<double> loads(static_cast<std::size_t>(ranks));
    const double mean = mean_load(costs, ranks);
    const double best = best_largest(costs, loads, std::numeric_limits<double>::infinity()) / mean;
    ASSERT_GE(plan.balance, best * (1 - 1e-12));
    ASSERT_LE(plan.balance, std::max(1.05, best * (4.0 / 3))) << "the bound of the order alone";
    possible += best <= 1.05;
    missed += best <= 1.05 && plan.balance > 1.05;
  }
  EXPECT_GT(possible, 100);
  EXPECT_EQ(missed, 0) << possible << " were possible";
}

TEST(Ownership, ManyPiecesAreBalancedAlways) {
  std::mt19937_64 rng(2);
  for (int round = 0; round < 200; ++round) {
    const int ranks = std::uniform_int_distribution(2, 40)(rng);
    std::vector<double> costs(std::uniform_int_distribution<std::size_t>(1, 600)(rng));
    const auto side = [&] { return std::uniform_int_distribution<std::int64_t>(1, 4096)(rng); };
    for (double& cost : costs) cost = iteration_cost(side(), side(), 5);
    const Ownership plan = assign_owners(costs, ranks);
    const double mean = mean_load(costs, ranks), most = *std::max_element(costs.begin(), costs.end());
    EXPECT_LE(plan.balance * mean, mean + most * (1 - 1.0 / ranks) + 1e-9 * mean);
    if (most <= mean / 20) {
      EXPECT_LE(plan.balance, 1.05);
    }
    EXPECT_EQ(plan.owners, assign_owners(costs, ranks).owners);
    double sum = 0;
    for (const double load : plan.loads) sum += load;
    EXPECT_NEAR(sum, mean * ranks, 1e-9 * sum);
  }
}

TEST(Ownership, AModelOf196MatricesIsBalancedUpTo32Ranks) {
  std::vector<double> costs;  // the hidden matrices of Qwen3-0.6B
  for (int layer = 0; layer < 28; ++layer) {
    for (const auto& [m, n] :
         {std::pair(2048, 1024), std::pair(1024, 1024), std::pair(1024, 1024), std::pair(1024, 2048),
          std::pair(3072, 1024), std::pair(3072, 1024), std::pair(1024, 3072)})
      costs.push_back(iteration_cost(m, n, 5));
  }
  for (const int ranks : {2, 3, 4, 8, 16, 32}) EXPECT_LE(assign_owners(costs, ranks).balance, 1.05) << ranks;
}

TEST(Ownership, CostCountsTheCheaperForm) {
  EXPECT_EQ(iteration_cost(10, 1000, 5), iteration_cost(1000, 10, 5));
  EXPECT_EQ(iteration_cost(10, 1000, 5), 10 * 10 * 1000 * 1.5 + 5 * 2 * 1000.0) << "on X X^T";
  EXPECT_EQ(iteration_cost(10, 10, 1), 10 * 10 * 10 * 2.0) << "on X";
  EXPECT_EQ(iteration_cost(10, 10, 0), 0);
}

TEST(Ownership, RefusesWhatIsNoCost) {
  EXPECT_EQ(error_of([] { assign_owners({}, 0); }), "assign_owners: ranks must be > 0, got 0");
  EXPECT_EQ(error_of([] {
              assign_owners(std::vector<double>{1, -2}, 2);
            }),
            "assign_owners: costs must be finite and >= 0, got -2 for piece 1");
}

}  // namespace
}  // namespace trasmuon::test
