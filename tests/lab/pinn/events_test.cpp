// SPDX-License-Identifier: Apache-2.0
#include "lab/pinn/events.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trasmuon::lab {
namespace {

constexpr int kFirst = 10, kPeriod = 5;  // events at 10, 15, 20, 25

std::vector<double> flat(int steps) { return std::vector<double>(static_cast<std::size_t>(steps), 2.0); }

std::vector<EventPeak> peaks_of(const std::vector<double>& losses) { return find_peaks(losses, kFirst, kPeriod); }

double recovery(const std::vector<double>& losses, std::size_t event = 0) {
  return recovery_steps(losses, peaks_of(losses)[event], kPeriod);
}

TEST(Events, StepsOfThem) {
  EXPECT_FALSE(is_event_step(5, kFirst, kPeriod));
  EXPECT_TRUE(is_event_step(10, kFirst, kPeriod));
  EXPECT_FALSE(is_event_step(11, kFirst, kPeriod));
  EXPECT_TRUE(is_event_step(25, kFirst, kPeriod));
}

TEST(Events, ACalmLossHasNoSpike) {
  const auto peaks = peaks_of(flat(28));
  ASSERT_EQ(peaks.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(peaks[i].step, 10 + 5 * static_cast<int>(i));
    EXPECT_EQ(peaks[i].baseline, 2);
    EXPECT_EQ(peaks[i].ratio, 1);
    EXPECT_FALSE(is_spike(peaks[i].ratio));
  }
}

TEST(Events, TheLossAtAnEventIsNotJudged) {
  std::vector<double> losses = flat(28);
  losses[10] = losses[15] = losses[20] = 1e6;
  for (const EventPeak& peak : peaks_of(losses)) EXPECT_EQ(peak.ratio, 1) << peak.step;
}

TEST(Events, ABumpHasAPeakAndARecovery) {
  std::vector<double> losses = flat(20);
  losses[11] = 2.1, losses[12] = 7, losses[13] = 2.3;  // 2.1 comes before the peak, 2.3 is 1.15 of the baseline
  const EventPeak peak = peaks_of(losses)[0];
  EXPECT_EQ(peak.peak_step, 12);
  EXPECT_EQ(peak.ratio, 3.5);
  EXPECT_TRUE(is_spike(peak.ratio));
  EXPECT_EQ(recovery(losses), 4);
}

TEST(SpikeRule, ThreeTimesTheBaselineIsNoSpikeAndAnythingAboveIs) {
  std::vector<double> losses = flat(20);
  losses[11] = 6;
  EXPECT_EQ(peaks_of(losses)[0].ratio, 3);
  EXPECT_FALSE(is_spike(peaks_of(losses)[0].ratio));
  losses[11] = std::nextafter(6.0, 7.0);
  EXPECT_TRUE(is_spike(peaks_of(losses)[0].ratio));
}

TEST(SpikeRule, OneThatDoesNotRecoverBeforeTheNextEventHasNoTime) {
  std::vector<double> losses = flat(20);
  losses[11] = losses[12] = losses[13] = losses[14] = 5;
  losses[15] = 1;  // the next event's own
  EXPECT_TRUE(std::isnan(recovery(losses)));
  EXPECT_EQ(peaks_of(losses)[1].ratio, 2.0 / 5);  // against the period before it
}

TEST(Events, WithoutAStepAfterItAnEventIsNotJudged) {
  EXPECT_EQ(peaks_of(flat(10)).size(), 0u);
  EXPECT_EQ(peaks_of(flat(11)).size(), 0u);
  EXPECT_EQ(peaks_of(flat(12)).size(), 1u);
  EXPECT_EQ(peaks_of({}).size(), 0u);
}

TEST(Events, ALossThatIsNotFiniteIsInfinite) {
  std::vector<double> losses = flat(18);
  losses[12] = std::nan("");
  losses[16] = losses[17] = std::numeric_limits<double>::infinity();
  const auto peaks = peaks_of(losses);
  ASSERT_EQ(peaks.size(), 2u);
  EXPECT_TRUE(std::isinf(peaks[0].ratio));
  EXPECT_EQ(recovery(losses), 3);
  EXPECT_TRUE(std::isinf(peaks[1].ratio));
  EXPECT_TRUE(std::isnan(recovery(losses, 1)));
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
