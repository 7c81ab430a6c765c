// SPDX-License-Identifier: Apache-2.0
#include "support/scale_property.h"

namespace trasmuon::test {
namespace {

template <class T>
std::vector<double> trained(const Options& options, Shape shape, int exponent) {
  std::mt19937_64 rng(3);
  Single<T> one(options, std::vector<T>(static_cast<std::size_t>(shape.elements())), shape);
  for (int step = 0; step < 5; ++step) one.step(bounded_gradient<T>(shape.elements(), exponent, rng));
  return {one.w.begin(), one.w.end()};
}

std::vector<double> train(const Options& options, DType type, Shape shape, int exponent) {
  return type == DType::f64 ? trained<double>(options, shape, exponent) : trained<float>(options, shape, exponent);
}

TEST(Scale, StepsAreTheSameFromTinyToHugeGradients) { expect_steps_at_every_scale(train, 1e-2); }
TEST(Scale, BeyondTheLimitNothingMoves) { expect_no_step_beyond(train); }

template <class T>
void expect_finite_steps(Options options, Shape shape) {
  std::mt19937_64 rng(4);
  set_fields(options, {{"lr", "1e20"}, {"weight_decay", "0"}});
  Single<T> one(options, random_values<T>(shape.elements(), rng), shape);
  for (int step = 0; step < 20; ++step) one.step(random_values<T>(shape.elements(), rng));
  for (const T w : one.w) ASSERT_TRUE(std::isfinite(w)) << rule_name(options);
}

TEST(Scale, TheLargestLearningRateKeepsWeightsFinite) {
  std::vector<Options> rules = all_rules();
  rules.push_back(TrasMuonOptions{.rms_scale = 1e10, .rho = 0.5, .gamma = 1e20, .min_damped_dim = 1});
  for (const Options& options : rules) {
    for (const Shape& shape : {Shape{9, 12}, Shape{1, 1000}}) {
      expect_finite_steps<float>(options, shape);
      expect_finite_steps<double>(options, shape);
    }
  }
  for (Options options : rules) {
    for (const double lr : {1.1e20, 1e39, 1e155, 1e308})
      EXPECT_NE(error_of([&] { set_field(options, "lr", lr); }).find("lr must be in [0, 1e+20], got"),
                std::string::npos);
  }
  Options options = TrasMuonOptions{};
  EXPECT_EQ(error_of([&] { set_field(options, "gamma", 1e155); }), "trasmuon: gamma must be in [0, 1e+20], got 1e+155");
}

}  // namespace
}  // namespace trasmuon::test
