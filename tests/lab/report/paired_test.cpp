// SPDX-License-Identifier: Apache-2.0
#include "lab/report/paired.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "lab/report/statistics/student_t.h"

namespace trasmuon::lab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

BySeed constant(std::size_t seeds, double value) {
  BySeed values;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) values[seed] = value;
  return values;
}

/// exp(mean + deviation z) with normal z.
BySeed log_normal(std::mt19937_64& engine, std::size_t seeds, double mean, double deviation) {
  std::normal_distribution<double> normal(mean, deviation);
  BySeed values;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) values[seed] = std::exp(normal(engine));
  return values;
}

TEST(StudentT, HasTheTabulatedValues) {
  EXPECT_NEAR(t_critical(0.95, 1), 12.7062, 1e-3);
  EXPECT_NEAR(t_critical(0.95, 23), 2.06866, 1e-4);
  EXPECT_NEAR(t_critical(0.99, 10), 3.16927, 1e-4);
  EXPECT_NEAR(t_critical(0.95, 1e6), 1.95997, 1e-4);
  EXPECT_NEAR(t_two_sided_p(1, 1), 0.5, 1e-12);
  EXPECT_NEAR(t_two_sided_p(2, 2), 1 - 2 / std::sqrt(6.0), 1e-12);  // t / sqrt(t^2 + 2)
  EXPECT_NEAR(t_two_sided_p(-2.06866, 23), 0.05, 1e-5);
  EXPECT_EQ(t_two_sided_p(0, 7), 1);
  EXPECT_EQ(t_two_sided_p(kInfinity, 7), 0);
}

TEST(PairedEffect, IsOfTheLogarithmsSeedBySeed) {
  // Logarithms of the ratios: ln 2 times -1, -2, -3; mean -2 ln 2, deviation ln 2.
  const PairedEffect effect = paired_effect({{0, 1}, {1, 1}, {2, 1}, {9, 5}}, {{0, 2}, {1, 4}, {2, 8}, {7, 1}});
  EXPECT_EQ(effect.seeds, 3u);
  EXPECT_NEAR(effect.ratio, 0.25, 1e-12);
  EXPECT_NEAR(effect.size, -2, 1e-12);
  const double margin = t_critical(0.95, 2) * std::log(2.0) / std::sqrt(3.0);
  EXPECT_NEAR(effect.low, 0.25 * std::exp(-margin), 1e-9);
  EXPECT_NEAR(effect.high, 0.25 * std::exp(margin), 1e-9);
  EXPECT_NEAR(effect.p, t_two_sided_p(-2 * std::sqrt(3.0), 2), 1e-12);
  EXPECT_EQ(effect.text(), "× 0.25 [0.045, 1.40], d = −2.0, p = 0.074");
}

TEST(PairedEffect, TheIntervalCoversTheTruth) {
  std::mt19937_64 engine(3);
  constexpr int kTrials = 2000;
  for (const std::size_t seeds : {4, 24}) {
    int covered = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const PairedEffect effect = paired_effect(log_normal(engine, seeds, -0.3, 0.5), constant(seeds, 1));
      covered += effect.low <= std::exp(-0.3) && std::exp(-0.3) <= effect.high;
    }
    EXPECT_NEAR(static_cast<double>(covered) / kTrials, 0.95, 0.02) << seeds;  // 4 standard errors
  }
}

TEST(PairedEffect, WithoutADifferenceOneInTwentyIsSignificant) {
  std::mt19937_64 engine(4);
  int significant = 0;
  for (int trial = 0; trial < 2000; ++trial)
    significant += paired_effect(log_normal(engine, 12, 0, 1), log_normal(engine, 12, 0, 1)).p < 0.05;
  EXPECT_NEAR(significant / 2000.0, 0.05, 0.02);
}

TEST(PairedEffect, OfEqualRowsIsNone) {
  const PairedEffect effect = paired_effect(constant(5, 3), constant(5, 3));
  EXPECT_EQ(effect.ratio, 1);
  EXPECT_EQ(effect.p, 1);
  EXPECT_EQ(effect.size, 0);
  EXPECT_TRUE(effect.within(1.0001));
}

TEST(PairedEffect, OfAConstantRatioIsCertain) {
  const PairedEffect effect = paired_effect({{0, 1}, {1, 2}, {2, 3}}, {{0, 2}, {1, 4}, {2, 6}});
  EXPECT_NEAR(effect.ratio, 0.5, 1e-12);
  EXPECT_EQ(effect.p, 0);
  EXPECT_TRUE(effect.clearly_lower());
  EXPECT_EQ(effect.text(), "× 0.50 [0.50, 0.50], d = −∞, p < 1e-6");
}

TEST(PairedEffect, DivergedRunsHaveNoLogarithm) {
  BySeed diverged = constant(8, kInfinity);
  diverged[0] = 2;
  const PairedEffect effect = paired_effect(constant(8, 1), diverged);
  EXPECT_EQ(effect.diverged, 7u);
  EXPECT_TRUE(effect.clearly_lower());
  EXPECT_FALSE(effect.within(10));
  EXPECT_EQ(effect.text(), "lower in 8 of 8 seeds, 7 diverged, p = 0.008");
  EXPECT_TRUE(paired_effect(diverged, constant(8, 1)).clearly_higher());
}

TEST(PairedEffect, OfOneSeedOrNoneClaimsNothing) {
  EXPECT_FALSE(paired_effect({{0, 1}}, {{1, 1}}).known());
  EXPECT_EQ(paired_effect({{0, 1}}, {{1, 1}}).text(), "–");
  const PairedEffect one = paired_effect({{0, 1}}, {{0, 4}});
  EXPECT_EQ(one.text(), "× 0.25, one seed");
  EXPECT_FALSE(one.clearly_lower());
}

TEST(Holm, MultipliesByTheNumberThatIsLeft) {
  const std::vector<double> p = {0.01, 0.04, 0.03, 0.005};
  const std::vector<double> adjusted = holm(p);
  EXPECT_NEAR(adjusted[3], 0.02, 1e-15);  // 4 x 0.005
  EXPECT_NEAR(adjusted[0], 0.03, 1e-15);  // 3 x 0.01
  EXPECT_NEAR(adjusted[2], 0.06, 1e-15);  // 2 x 0.03
  EXPECT_NEAR(adjusted[1], 0.06, 1e-15);  // 1 x 0.04, but never below the one before
  EXPECT_TRUE(holm(std::vector<double>{}).empty());
  EXPECT_EQ(holm(std::vector<double>{0.7, 0.8}), (std::vector<double>{1, 1}));
}

TEST(Holm, KeepsTheFamilysErrorBelowFivePercent) {
  std::mt19937_64 engine(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  int any_plain = 0, any_adjusted = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> p(20);
    for (double& value : p) value = uniform(engine);
    any_plain += *std::min_element(p.begin(), p.end()) < 0.05;
    const std::vector<double> adjusted = holm(p);
    any_adjusted += *std::min_element(adjusted.begin(), adjusted.end()) < 0.05;
  }
  EXPECT_GT(any_plain, 1000);
  EXPECT_NEAR(any_adjusted / 2000.0, 0.05, 0.02);
}

TEST(Holm, AdjustsKnownEffectsTogether) {
  std::mt19937_64 engine(6);
  PairedEffect a = paired_effect(log_normal(engine, 8, -0.5, 0.5), constant(8, 1)), b = a, unknown;
  PairedEffect* all[] = {&a, &unknown, &b};
  adjust_for_all(all);
  EXPECT_NEAR(a.adjusted_p, std::min(1.0, 2 * a.p), 1e-15);
  EXPECT_EQ(unknown.adjusted_p, 1);
}

/// Lower by this ratio in all of eight seeds, with an adjusted p.
PairedEffect effect_with(double ratio, double p) {
  PairedEffect effect;
  effect.seeds = 8;
  effect.ratio = ratio;
  effect.low = ratio / 1.05;
  effect.high = ratio * 1.05;
  effect.adjusted_p = p;
  effect.pairing = {ratio < 1 ? 8u : 0u, ratio > 1 ? 8u : 0u, 0, p};
  return effect;
}

TEST(JudgeLower, AsksForAnAdjustedP) {
  EXPECT_EQ(judge_lower(effect_with(0.5, 0.01)), Verdict::reproduced);
  EXPECT_EQ(judge_lower(effect_with(0.5, 0.2)), Verdict::indicated);
  EXPECT_EQ(judge_lower(effect_with(2, 0.01)), Verdict::not_reproduced);
  EXPECT_EQ(judge_lower({}), Verdict::unknown);
}

TEST(JudgeLower, OneControlCanRefute) {
  const PairedEffect lower = effect_with(0.5, 0.01), maybe = effect_with(0.9, 0.3), higher = effect_with(2, 0.01), none;
  const auto verdict = [](std::vector<const PairedEffect*> effects) { return judge_lower_than_all(effects); };
  EXPECT_EQ(verdict({&lower, &lower}), Verdict::reproduced);
  EXPECT_EQ(verdict({&lower, &none}), Verdict::reproduced);
  EXPECT_EQ(verdict({&lower, &maybe}), Verdict::indicated);
  EXPECT_EQ(verdict({&lower, &higher}), Verdict::in_part);
  EXPECT_EQ(verdict({&maybe, &higher}), Verdict::not_reproduced);
  EXPECT_EQ(verdict({&higher}), Verdict::not_reproduced);
  EXPECT_EQ(verdict({&none}), Verdict::unknown);
}

TEST(JudgeSimilar, AsksForANarrowInterval) {
  PairedEffect close = effect_with(1.1, 0.01), far = effect_with(2, 0.01), wide = effect_with(1.1, 0.6);
  wide.low = 0.5;
  const auto verdict = [](std::vector<const PairedEffect*> effects) { return judge_similar(effects); };
  EXPECT_EQ(verdict({&close}), Verdict::reproduced);  // different, but by little
  EXPECT_EQ(verdict({&close, &far}), Verdict::not_reproduced);
  EXPECT_EQ(verdict({&close, &wide}), Verdict::indicated);
}

TEST(PairedEffect, ConclusionsNeedSeeds) {
  const auto effect = [](std::size_t seeds, double factor, double noise) {
    BySeed ours, theirs;
    for (std::size_t seed = 0; seed < seeds; ++seed) {
      theirs[seed] = 1;
      ours[seed] = factor * (seed % 2 == 0 ? 1 + noise : 1 / (1 + noise));
    }
    return paired_effect(ours, theirs);
  };
  EXPECT_EQ(conclusion(effect(10, 0.5, 0.1)), "lower");
  EXPECT_EQ(conclusion(effect(10, 2, 0.1)), "higher");
  EXPECT_EQ(conclusion(effect(10, 1, 0.1)), "about equal");
  EXPECT_EQ(conclusion(effect(10, 1, 2)), "undecided");
  EXPECT_EQ(conclusion(effect(4, 1, 0.1)), "too few seeds to tell");
  EXPECT_EQ(judge_no_worse(effect(10, 1, 0.1)), Verdict::reproduced);
  EXPECT_EQ(judge_no_worse(effect(10, 1, 2)), Verdict::indicated);
  EXPECT_EQ(judge_no_worse(effect(10, 1.5, 0.1)), Verdict::not_reproduced);
}

}  // namespace
}  // namespace trasmuon::lab
