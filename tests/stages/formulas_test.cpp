// SPDX-License-Identifier: Apache-2.0
// The formulas that both backends use, each against the equation as docs/algorithm.md has it.
#include "stages/formulas.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trasmuon {
namespace {

TEST(Formulas, AGradientEntryIsUsableUpToTheDocumentedLimit) {
  EXPECT_TRUE(usable_gradient(-0x1p62f));
  EXPECT_FALSE(usable_gradient(std::nextafter(0x1p62f, INFINITY)));
  EXPECT_TRUE(usable_gradient(1e150));
  EXPECT_FALSE(usable_gradient(-1.0000001e150));
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), INFINITY, -INFINITY}) EXPECT_FALSE(usable_gradient(bad));
  EXPECT_TRUE(std::isfinite(kLargestGradient<float> * kLargestGradient<float>)) << "AdamW squares it";
}

TEST(Formulas, InputScaleDividesByTheNormAndWhatIsAddedToIt) {
  const InputNorm paper{.eps_relative = 1e-3, .eps_absolute = 1e-6};
  EXPECT_DOUBLE_EQ(input_scale<double>(paper, 2.0, 100), 1 / (2.0 + 1e-3 * 2.0 / 10 + 1e-6));
  EXPECT_DOUBLE_EQ(input_scale<double>(paper, 2.0, 100, 5), 5 * input_scale<double>(paper, 2.0, 100));
  const InputNorm capped{.eps_absolute = 1e-6, .eps_cap = 1e-3};
  EXPECT_DOUBLE_EQ(input_scale<double>(capped, 1e-9, 100), 1 / (1e-9 + 1e-12));
}

TEST(Formulas, InputScaleIsZeroForAnInputWithoutDigits) {
  EXPECT_EQ(input_scale<float>({}, 10.0 * FLT_MIN, 100), 0);
  EXPECT_GT(input_scale<float>({}, 10.1 * FLT_MIN, 100), 0);
  EXPECT_GT(input_scale<double>({}, 1.01e-149, 100), 0);
  EXPECT_EQ(input_scale<double>({}, 0.99e-149, 100), 0) << "squares of its entries are near the end of f64";
  EXPECT_EQ(input_scale<double>({}, 0.0, 100), 0);
}

TEST(Formulas, RowFactorPlacesEpsInsideOrOutsideTheRoot) {
  EXPECT_DOUBLE_EQ(row_factor(RowScaleStage{.eps_inside = 0.09}, 0.16), 2.0);
  EXPECT_DOUBLE_EQ(row_factor(RowScaleStage{.eps_outside = 0.1}, 0.16), 2.0);
  EXPECT_EQ(row_factor(RowScaleStage{}, 0.0), 0.0) << "a row of zeros stays zero";
  EXPECT_DOUBLE_EQ(next_row_moment(RowScaleStage{.beta = 0.9}, 1.0, 30.0, 10), 0.9 + 0.1 * 3);
}

TEST(Formulas, EachCalibrationIsItsFormula) {
  using Kind = CalibrateStage::Kind;
  const auto step = [](Kind kind, std::int64_t m, std::int64_t n) {
    return calibrated_step({kind, 0.5, 1.0}, 0.1, m, n, 9.0, 16.0);
  };
  EXPECT_DOUBLE_EQ(step(Kind::none, 8, 2), 0.1);
  EXPECT_DOUBLE_EQ(step(Kind::rms, 8, 2), 0.1 * 0.5 * 4 / (4 + 1));
  EXPECT_DOUBLE_EQ(step(Kind::keep_norm, 8, 2), 0.1 * 2 * 3 / (4 + 1));
  EXPECT_DOUBLE_EQ(step(Kind::original, 8, 2), 0.1 * 2);
  EXPECT_DOUBLE_EQ(step(Kind::original, 2, 8), 0.1);
  EXPECT_DOUBLE_EQ(step(Kind::match_rms_adamw, 2, 9), 0.1 * 0.2 * 3);
}

TEST(Formulas, TheReferenceStartsInOneOfThreeWays) {
  const TrustRegionStage corrected{.beta_energy = 0.5};
  const TrustRegionStage zero{.beta_energy = 0.5, .reference_start = ReferenceStart::zero};
  const TrustRegionStage first{.beta_energy = 0.5, .reference_start = ReferenceStart::first};
  EXPECT_DOUBLE_EQ(reference_bias(corrected, 2), 0.75);
  EXPECT_EQ(reference_bias(zero, 2), 1);
  EXPECT_EQ(reference_bias(first, 2), 1);
  for (const TrustRegionStage& stage : {corrected, zero}) EXPECT_DOUBLE_EQ(next_reference(stage, 0, 4, 1), 2);
  EXPECT_DOUBLE_EQ(next_reference(first, 0, 4, 1), 4);
  EXPECT_DOUBLE_EQ(next_reference(first, 2, 4, 2), 3);
}

TEST(Formulas, AReferenceIsDeadBelowItsThreshold) {
  EXPECT_TRUE(energy_reference({.eps_energy = 1e-3}, 1e-4, 1).dead);
  EXPECT_FALSE(energy_reference({.eps_energy = 1e-5}, 1e-4, 1).dead);
  EXPECT_FALSE(energy_reference({.eps_energy = 0}, 0, 1).dead) << "0 switches the guard off";
}

TEST(Formulas, QuantilesAreInterpolatedOrNearest) {
  const auto at = [](double q, QuantileRule rule, std::int64_t n) {
    const QuantilePosition p = quantile_position({.quantile = q, .quantile_rule = rule}, n);
    return static_cast<double>(p.low) + p.share;
  };
  EXPECT_EQ(at(0.5, QuantileRule::interpolated, 5), 2);
  EXPECT_EQ(at(0.5, QuantileRule::interpolated, 6), 2.5);
  EXPECT_EQ(at(0.5, QuantileRule::nearest, 5), 2);
  EXPECT_EQ(at(0.5, QuantileRule::nearest, 6), 2) << "the lower middle value";
  EXPECT_EQ(at(0.8, QuantileRule::nearest, 10), 7);
  for (const QuantileRule rule : {QuantileRule::interpolated, QuantileRule::nearest}) {
    EXPECT_EQ(at(0, rule, 7), 0);
    EXPECT_EQ(at(1, rule, 7), 6);
    EXPECT_EQ(at(0.3, rule, 1), 0);
  }
  EXPECT_DOUBLE_EQ(between(2, 4, 0.25), 2.5);
}

TEST(Formulas, AColumnIsComparedWithItsPastAlone) {
  const TrustRegionStage stage{.beta_energy = 0.5, .reference = Reference::history};
  EXPECT_TRUE(history_reference(stage, 0, 0, 9).dead) << "in the first step there is no past";
  const EnergyReference before = history_reference(stage, 1.5, 0.75, 100);
  EXPECT_DOUBLE_EQ(before.value, 2);
  EXPECT_FALSE(before.dead);
  EXPECT_DOUBLE_EQ(next_history(stage, before, 1.5, 100, 0.875), 50.75);
  EXPECT_DOUBLE_EQ(next_history(stage, {0, true}, 0, 8, 0.75) / 0.75, 8) << "a new column starts with its energy";
  EXPECT_EQ(energy_ratio(stage, {0, true}, 8), 1);
  EXPECT_TRUE(history_reference({.reference = Reference::history, .eps_energy = 0}, 0, 1, 9).dead);
}

TEST(Formulas, EnergiesOfAYoungMomentumAreCorrectedForHistories) {
  TrustRegionStage stage{.momentum_beta = 0.5, .reference = Reference::history};
  EXPECT_DOUBLE_EQ(history_bias(stage, 2), 0.75 * 0.75);
  stage.reference_start = ReferenceStart::first;
  EXPECT_EQ(history_bias(stage, 2), 1);
}

TEST(Formulas, DampingStartsAboveTheTrigger) {
  const TrustRegionStage soft{.alpha = 2, .trigger = 4};
  const EnergyReference one{1, false};
  EXPECT_EQ(instant_damping(soft, one, 4), 1);
  EXPECT_DOUBLE_EQ(instant_damping(soft, one, 5), 1 / (1 + 2 * std::log(6.0)));
  EXPECT_EQ(instant_damping(soft, one, 1e300), soft.c_min);
  EXPECT_EQ(instant_damping(soft, {1, true}, 1e300), 1) << "no reference, no damping";
}

TEST(Formulas, TheHardClipDoesNotDependOnTheScaleWithoutEps) {
  TrustRegionStage hard{.clip = Clip::hard, .trigger = 4};
  EXPECT_DOUBLE_EQ(instant_damping(hard, {1, false}, 16), 0.5);
  EXPECT_DOUBLE_EQ(instant_damping(hard, {1e-60, false}, 16e-60), 0.5);
  hard.eps_reference = 1;
  EXPECT_DOUBLE_EQ(instant_damping(hard, {8, false}, 63), std::sqrt(4 * 8 / 64.0));
}

TEST(Formulas, TheAverageOfNothingIsOneOrZero) {
  EXPECT_EQ(average_damping({}, 0, 0), 1);
  EXPECT_EQ(average_damping({.average_start = AverageStart::zero, .eps_average = 1e-8}, 0, 0), 0);
  EXPECT_DOUBLE_EQ(average_damping({.eps_average = 4}, 1, 4), 0.125);
  EXPECT_DOUBLE_EQ(average_damping({}, 1, 4), 0.25);
  EXPECT_DOUBLE_EQ(damping({.rho = 0.25}, true, 0.5, 0.9), 0.75 * 0.5 + 0.25 * 0.9);
  EXPECT_EQ(damping({.c_min = 0.1, .rho = 1}, true, 0.5, 0.01), 0.1);
  EXPECT_EQ(damping({.c_min = 0.1, .rho = 1, .clamp_damping = false}, true, 0.5, 0.01), 0.01);
  EXPECT_EQ(damping({.rho = 1}, false, 0.5, 0.01), 1);
}

TEST(Formulas, TheWeightOfAStepInTheAverage) {
  EXPECT_DOUBLE_EQ(step_weight({.gamma = 3}, 7, 7, 1), 9);
  EXPECT_EQ(step_weight({.warmup = 4, .gamma = 3, .average_warmup = false}, 7, 7, 4), 0);
  EXPECT_DOUBLE_EQ(step_weight({.warmup = 4, .gamma = 3, .average_warmup = false}, 7, 7, 5), 9);
  const TrustRegionStage limited{.gamma_from_step = true, .beta_gamma = 0.75, .gamma_low = 0.5, .gamma_high = 2};
  EXPECT_DOUBLE_EQ(next_eta_average(limited, 9, 4, 1), 4);
  EXPECT_DOUBLE_EQ(next_eta_average(limited, 8, 4, 2), 7);
  EXPECT_DOUBLE_EQ(step_weight(limited, 1, 4, 2), 4);
  EXPECT_DOUBLE_EQ(step_weight(limited, 5, 4, 2), 25);
  EXPECT_DOUBLE_EQ(step_weight(limited, 50, 4, 2), 64);
}

TEST(Formulas, GatesOpenAfterWarmupEveryPeriod) {
  TrustRegionStage stage{.period = 3, .warmup = 4, .min_damped_dim = 8};
  EXPECT_FALSE(is_damped(stage, 8, 9, 4));
  EXPECT_TRUE(is_damped(stage, 8, 9, 5));
  EXPECT_FALSE(is_damped(stage, 7, 9, 5));
  EXPECT_FALSE(is_gate_step(stage, 5));
  EXPECT_TRUE(is_gate_step(stage, 6));
  EXPECT_FALSE(is_gate_step(stage, 1));
  stage.gate_first_step = true;
  EXPECT_TRUE(is_gate_step(stage, 1));
  stage.damped_dim = DampedDim::columns;
  EXPECT_TRUE(is_damped(stage, 7, 9, 5));
  EXPECT_FALSE(is_damped(stage, 9, 7, 5));
}

TEST(Formulas, AStepBeyondTheTypeTimesZeroIsZero) {
  const float step = row_step(1e300, 1.0f);
  EXPECT_TRUE(std::isfinite(step));
  EXPECT_EQ(next_weight(2.0f, 0.5f, step, 1e30f, 0.0f), 1.0f);
}

TEST(Formulas, AdamWIsItsTextbookFormula) {
  const AdamWOptions options{.beta1 = 0.8, .beta2 = 0.9, .eps = 0.01};
  double m = 0.3, v = 0.2;
  const AdamWScalars<double> scalars = adamw_scalars<double>(options, 3);
  next_adamw_moments(scalars, 2.0, m, v);
  EXPECT_DOUBLE_EQ(m, 0.8 * 0.3 + 0.2 * 2);
  EXPECT_DOUBLE_EQ(v, 0.9 * 0.2 + 0.1 * 4);
  const double m_hat = m / (1 - std::pow(0.8, 3)), v_hat = v / (1 - std::pow(0.9, 3));
  EXPECT_NEAR(adamw_direction(scalars, m, v), m_hat / (std::sqrt(v_hat) + 0.01), 1e-15);
}

}  // namespace
}  // namespace trasmuon
