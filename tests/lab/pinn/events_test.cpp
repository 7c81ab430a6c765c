// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/events.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trasmuon::lab {
namespace {

constexpr int kFirst = 10, kPeriod = 5;  // events at 10, 15, 20, 25

std::vector<double> flat(int steps) { return std::vector<double>(static_cast<std::size_t>(steps), 2.0); }

std::vector<EventOutcome> judge(const std::vector<double>& losses) { return judge_events(losses, kFirst, kPeriod); }

TEST(Events, StepsOfThem) {
  EXPECT_FALSE(is_event_step(5, kFirst, kPeriod));
  EXPECT_TRUE(is_event_step(10, kFirst, kPeriod));
  EXPECT_FALSE(is_event_step(11, kFirst, kPeriod));
  EXPECT_TRUE(is_event_step(25, kFirst, kPeriod));
}

TEST(Events, ACalmLossHasNothingToRecoverFrom) {
  const auto outcomes = judge(flat(28));
  ASSERT_EQ(outcomes.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(outcomes[i].step, 10 + 5 * static_cast<int>(i));
    EXPECT_EQ(outcomes[i].peak_ratio, 1);
    EXPECT_EQ(outcomes[i].recovery_steps, 0);
    EXPECT_TRUE(outcomes[i].valid());
    EXPECT_FALSE(outcomes[i].spike());
  }
}

TEST(Events, TheLossAtAnEventIsNotJudged) {
  std::vector<double> losses = flat(28);
  losses[10] = losses[15] = losses[20] = 1e6;
  for (const EventOutcome& outcome : judge(losses)) EXPECT_EQ(outcome.peak_ratio, 1) << outcome.step;
}

TEST(Events, ABumpHasAPeakAndARecovery) {
  std::vector<double> losses = flat(20);
  losses[11] = 2.1, losses[12] = 5, losses[13] = 2.3;  // 2.1 comes before the peak, 2.3 is 1.15 of the baseline
  const EventOutcome outcome = judge(losses)[0];
  EXPECT_EQ(outcome.peak_ratio, 2.5);
  EXPECT_EQ(outcome.recovery_steps, 4);
  EXPECT_TRUE(outcome.spike());
  EXPECT_TRUE(outcome.valid());
}

TEST(Events, ASmallBumpIsNoSpikeButHasARecovery) {
  std::vector<double> losses = flat(20);
  losses[11] = 4;
  const EventOutcome outcome = judge(losses)[0];
  EXPECT_EQ(outcome.peak_ratio, 2);
  EXPECT_EQ(outcome.recovery_steps, 2);
  EXPECT_FALSE(outcome.spike());
}

TEST(Events, OneThatDoesNotRecoverInTimeIsNotValid) {
  std::vector<double> losses = flat(20);
  losses[11] = losses[12] = losses[13] = losses[14] = 5;
  losses[15] = 1;  // the next event's own
  const auto outcomes = judge(losses);
  EXPECT_TRUE(outcomes[0].spike());
  EXPECT_FALSE(outcomes[0].valid());
  EXPECT_EQ(outcomes[1].peak_ratio, 2.0 / 5);  // against the period before it
  EXPECT_TRUE(outcomes[1].valid());
}

TEST(Events, WithoutAStepAfterItAnEventIsNotJudged) {
  EXPECT_EQ(judge(flat(10)).size(), 0u);
  EXPECT_EQ(judge(flat(11)).size(), 0u);
  EXPECT_EQ(judge(flat(12)).size(), 1u);
  EXPECT_EQ(judge({}).size(), 0u);
}

TEST(Events, ALossThatIsNotFiniteIsInfinite) {
  std::vector<double> losses = flat(18);
  losses[12] = std::nan("");
  losses[16] = losses[17] = std::numeric_limits<double>::infinity();
  const auto outcomes = judge(losses);
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_TRUE(std::isinf(outcomes[0].peak_ratio));
  EXPECT_EQ(outcomes[0].recovery_steps, 3);
  EXPECT_TRUE(std::isinf(outcomes[1].peak_ratio));
  EXPECT_FALSE(outcomes[1].valid());
}

TEST(Volatility, ASteadyTrendHasNone) {
  std::vector<double> losses;
  for (int t = 0; t < 10; ++t) losses.push_back(std::exp(-0.1 * t));
  EXPECT_NEAR(loss_volatility(losses, 0, 10, kFirst, kPeriod), 0, 1e-12);
}

TEST(Volatility, OfAnAlternatingLoss) {
  std::vector<double> losses;
  for (int t = 0; t < 9; ++t) losses.push_back(t % 2 == 0 ? 1 : std::exp(0.5));
  EXPECT_NEAR(loss_volatility(losses, 0, 9, kFirst, kPeriod), 0.5, 1e-12);
}

TEST(Volatility, LeavesEventsOut) {
  std::vector<double> losses = flat(28);
  losses[10] = losses[15] = 1e6;
  EXPECT_NEAR(loss_volatility(losses, 8, 28, kFirst, kPeriod), 0, 1e-12);
  losses[12] = 3;
  EXPECT_GT(loss_volatility(losses, 8, 28, kFirst, kPeriod), 0.1);
}

TEST(Volatility, OfTooFewLossesIsNone) {
  EXPECT_TRUE(std::isnan(loss_volatility(flat(2), 0, 100, kFirst, kPeriod)));
  EXPECT_TRUE(std::isnan(loss_volatility({}, 0, 0, kFirst, kPeriod)));
}

}  // namespace
}  // namespace trasmuon::lab
