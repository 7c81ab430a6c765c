// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/model.h"

// What a step does to gradients of any size between 2^-100 and 2^58: one property, checked on every backend.
namespace trasmuon::test {

/// Every rule, and the variants whose arithmetic sees the gradient's size.
inline std::vector<Options> rules_at_any_scale() {
  constexpr double lr = 0.01;
  return {TrasMuonOptions{.lr = lr, .weight_decay = 0, .trigger = 1},
          TrasMuonOptions{.lr = lr, .weight_decay = 0, .nesterov = false, .clip = Clip::hard, .trigger = 1},
          NorMuonOptions{.lr = lr},
          NorMuonOptions{.lr = lr, .nesterov = true, .scaling = NorMuonScaling::code},
          MuonOptions{.lr = lr},
          DionOptions{.lr = lr, .rank_fraction = 0.5},
          AdamWOptions{.lr = lr, .weight_decay = 0}};
}

/// Entries in [-1, 1], times 2^exponent.
template <class T>
std::vector<T> bounded_gradient(std::int64_t count, int exponent, std::mt19937_64& rng) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values)
    value = static_cast<T>(std::ldexp(static_cast<double>(static_cast<float>(uniform(rng))), exponent));
  return values;
}

/// Largest |a - b|, or infinity if one is NaN.
inline double largest_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double apart = std::abs(a[i] - b[i]);
    worst = std::isnan(apart) ? INFINITY : std::max(worst, apart);
  }
  return worst;
}

/// RMS of the weights, which start at zero: the size of the steps taken.
inline double rms(const std::vector<double>& w) {
  double sum = 0;
  for (double x : w) sum += x * x;
  return std::sqrt(sum / static_cast<double>(w.size()));
}

/// `train(options, type, shape, exponent)`: the weights after a few steps from zero with bounded gradients times
/// 2^exponent, in f32 or f64. `tolerance`: in units of the learning rate, what rounding in f32 may change.
///
/// The rules that divide by a norm take the same steps at every scale. AdamW's eps makes its step depend on the scale;
/// there f32 and f64 must agree, although squares of small gradients underflow in f32.
template <class Train>
void expect_steps_at_every_scale(Train&& train, double tolerance) {
  for (const Options& options : rules_at_any_scale()) {
    const double lr = std::stod(get_field(options, "lr"));
    const bool invariant = !std::holds_alternative<AdamWOptions>(options);
    for (const Shape& shape : {Shape{24, 40}, Shape{40, 24}}) {
      const std::vector<double> exact = train(options, DType::f64, shape, 0);
      EXPECT_GT(rms(exact), 0.01 * lr) << rule_name(options) << ": no step at all";
      for (const int exponent : {-100, -80, -64, -50, -35, -20, 0, 20, 40, 58}) {
        const std::string where = std::string(rule_name(options)) + " 2^" + std::to_string(exponent);
        const auto at_scale = train(options, DType::f64, shape, exponent);
        if (invariant) {
          // eps takes up to a thousandth of a small norm.
          EXPECT_LE(largest_distance(at_scale, exact), 0.02 * lr) << where << " f64";
        }
        EXPECT_LE(largest_distance(train(options, DType::f32, shape, exponent), at_scale), tolerance * lr)
            << where << " f32";
      }
    }
  }
}

/// Entries above 2^62 in f32 count as non-finite under every rule: nothing moves. `train` as above.
template <class Train>
void expect_no_step_beyond(Train&& train) {
  for (const Options& options : rules_at_any_scale()) {
    for (const int exponent : {64, 100, 127}) {
      EXPECT_EQ(rms(train(options, DType::f32, Shape{24, 40}, exponent)), 0) << rule_name(options) << " 2^" << exponent;
    }
    EXPECT_EQ(rms(train(options, DType::f64, Shape{24, 40}, 520)), 0) << rule_name(options);
  }
}

}  // namespace trasmuon::test
