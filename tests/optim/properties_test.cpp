// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/model.h"

namespace trasmuon {
namespace {

using test::random_values;
using test::Single;

/// Returns the weights after some steps whose gradients are multiplied by `scale`.
template <class T>
std::vector<T> trained(const Options& options, Shape shape, double scale, int steps = 6) {
  std::mt19937_64 rng(41);
  Single<T> one(options, random_values<T>(shape.elements(), rng), shape);
  for (int step = 0; step < steps; ++step) {
    auto g = random_values<T>(shape.elements(), rng);
    for (T& x : g) x = static_cast<T>(static_cast<double>(x) * scale);
    one.step(g);
  }
  return one.w;
}

template <class T>
double largest_difference(const std::vector<T>& a, const std::vector<T>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return worst;
}

// Powers of two scale every product exactly. What remains is eps beside the norm, at most
// 1e-8 of it, seen through six steps (1e-6 of a step) and, in f32, rounding (1e-4).
TEST(ScaleInvariance, TheUpdateDoesNotChangeUnderPowersOfTwo) {
  const TrasMuonOptions options{.lr = 0.01, .weight_decay = 0, .trigger = 1, .min_damped_dim = 1};
  for (Shape shape : {Shape{10, 16}, Shape{30, 9}, Shape{1, 8}}) {
    const auto exact = trained<double>(options, shape, 1);
    const auto single = trained<float>(options, shape, 1);
    for (int k = -40; k <= 40; ++k) {
      const double scale = std::ldexp(1.0, k);
      EXPECT_LE(largest_difference(trained<double>(options, shape, scale), exact), 1e-6 * options.lr) << "2^" << k;
      EXPECT_LE(largest_difference(trained<float>(options, shape, scale), single), 1e-4 * options.lr) << "2^" << k;
    }
  }
}

TEST(ScaleInvariance, DampingDoesNotDependOnTheScale) {
  const auto damping = [](double scale) {
    std::mt19937_64 rng(49);
    Single<double> one(TrasMuonOptions{.beta1 = 0}, std::vector<double>(400, 0.0), {20, 20}, {}, {.diagnostics = true});
    for (int step = 0; step < 5; ++step) {
      auto g = random_values<double>(400, rng);
      for (std::size_t i = 0; i < g.size(); ++i) g[i] *= scale * (step == 4 && i % 20 == 3 ? 30 : 1);
      one.step(g);
    }
    return one.optimizer.diagnostics(0)[0];
  };
  const Diagnostics plain = damping(1);
  EXPECT_LT(plain.c_min, 0.8);
  for (double base : {1.0, 1e-3, 1e-5}) {
    for (int k : {-40, 40}) {
      const Diagnostics scaled = damping(base * std::ldexp(1.0, k));
      EXPECT_NEAR(scaled.c_min, plain.c_min, 1e-9) << base << " 2^" << k;
      EXPECT_NEAR(scaled.r_max, plain.r_max, 1e-9 * plain.r_max) << base << " 2^" << k;
    }
  }
}

TEST(ScaleInvariance, TinyAndHugeGradientsStillGiveAFullStep) {
  for (double scale : {1e-36, 1e-25, 1e17}) {
    const TrasMuonOptions options{.lr = 0.01, .weight_decay = 0, .clip = Clip::none};
    std::mt19937_64 rng(42);
    Single<float> one(options, std::vector<float>(200, 0.0f), {10, 20}, {}, {.diagnostics = true});
    auto g = random_values<float>(200, rng);
    for (float& x : g) x = static_cast<float>(x * scale);
    one.step(g);
    EXPECT_NEAR(one.optimizer.diagnostics(0)[0].update_rms, 0.2 * 0.01, 2e-5) << scale;
  }
}

TEST(Determinism, TheSameInputGivesTheSameBitsWithAnyNumberOfThreads) {
  const int before = num_threads();
  for (const Options& options : test::all_rules()) {
    set_num_threads(1);
    const auto once = trained<float>(options, {300, 290}, 1, 2);
    EXPECT_EQ(trained<float>(options, {300, 290}, 1, 2), once) << rule_name(options);
    for (int threads : {2, 3}) {
      set_num_threads(threads);
      EXPECT_EQ(trained<float>(options, {300, 290}, 1, 2), once) << rule_name(options) << " " << threads;
    }
  }
  set_num_threads(before);
}

TEST(Determinism, OneMatrixPerThreadGivesTheSameBitsToo) {
  // Enough large matrices that up to four threads take one each, and small ones beside them;
  // the number of threads changes between steps as well.
  const int before = num_threads();
  const auto run = [](NewtonSchulzPrecision precision, const std::vector<int>& threads) {
    std::mt19937_64 rng(48);
    std::vector<std::vector<float>> weights, gradients;
    std::vector<Parameter> parameters;
    std::vector<TensorView> views;
    for (const Shape shape : {Shape{300, 290}, Shape{260, 270}, Shape{20, 30}, Shape{280, 300}, Shape{300, 260},
                              Shape{8, 70}, Shape{270, 280}, Shape{64, 64}, Shape{310, 256}}) {
      weights.push_back(random_values<float>(shape.elements(), rng));
      gradients.push_back(random_values<float>(shape.elements(), rng));
      parameters.push_back({"w" + std::to_string(parameters.size()), view(weights.back().data(), shape)});
      views.push_back(view(gradients.back().data(), shape));
    }
    Optimizer optimizer({{TrasMuonOptions{.ns_precision = precision}, parameters}});
    for (int count : threads) {
      set_num_threads(count);
      optimizer.step(views);
    }
    return weights;
  };
  for (const NewtonSchulzPrecision precision : {NewtonSchulzPrecision::f32, NewtonSchulzPrecision::bf16}) {
    const auto once = run(precision, {1, 1});
    for (int threads : {2, 3, 4, 6}) {
      EXPECT_EQ(run(precision, {threads, threads}), once) << threads;
      EXPECT_EQ(run(precision, {threads, 1}), once) << threads;
    }
  }
  set_num_threads(before);
}

TEST(NonFinite, OneBadEntrySkipsThatMatrixAndTouchesNothing) {
  for (const Options& options : test::all_rules()) {
    for (double bad :
         {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), 1e200}) {
      std::mt19937_64 rng(43);
      Single<double> one(options, random_values<double>(30, rng), {5, 6}, {}, {.diagnostics = true});
      one.step(random_values<double>(30, rng));
      const auto weights = one.w;
      auto state = test::state_bytes(one.optimizer, 0);
      auto g = random_values<double>(30, rng);
      g[17] = bad;
      one.step(g);
      EXPECT_EQ(one.w, weights) << rule_name(options);
      EXPECT_FALSE(one.optimizer.diagnostics(0)[0].updated);
      const TensorView skipped = one.optimizer.state(0, "skipped");
      EXPECT_EQ(*static_cast<std::int64_t*>(skipped.data), 1);
      *static_cast<std::int64_t*>(skipped.data) = 0;
      EXPECT_EQ(test::state_bytes(one.optimizer, 0), state) << rule_name(options);
      one.step(random_values<double>(30, rng));
      EXPECT_NE(one.w, weights) << "must go on afterwards";
    }
  }
}

TEST(NonFinite, WithoutTheGuardNothingIsSkipped) {
  // Many columns, some NaN: selecting a median among them must stay in bounds too.
  std::mt19937_64 rng(47);
  Single<double> one(TrasMuonOptions::paper(), std::vector<double>(4 * 200, 1.0), {4, 200}, {}, {.diagnostics = true});
  auto g = random_values<double>(4 * 200, rng);
  for (std::size_t i = 0; i < g.size(); i += 7) g[i] = std::nan("");
  one.step(g);
  EXPECT_TRUE(std::isnan(one.w[1]));
  EXPECT_TRUE(std::isnan(one.optimizer.diagnostics(0)[0].r_q95));
}

TEST(Guards, AGradientOfZeroFromTheStartLeavesTheWeightToDecayAlone) {
  Single<float> one(TrasMuonOptions{.lr = 0.1, .weight_decay = 0.1}, std::vector<float>(100, 1.0f), {10, 10});
  for (int step = 0; step < 3; ++step) one.step(std::vector<float>(100, 0.0f));
  for (float w : one.w) EXPECT_NEAR(w, 0.970299f, 1e-6f);
}

TEST(Guards, TheSmallestEpsAndAZeroGradientKeepTheWeightFinite) {
  for (Options options : test::all_rules()) {
    std::visit(
        [](auto& o) {
          if constexpr (requires { o.eps; }) o.eps = 1e-30;
          if constexpr (requires { o.eps_calibration; }) o.eps_calibration = 1e-30;
        },
        options);
    Single<float> one(options, std::vector<float>(100, 1.0f), {10, 10});
    for (int step = 0; step < 3; ++step) one.step(std::vector<float>(100, 0.0f));
    for (float w : one.w) EXPECT_TRUE(std::isfinite(w)) << rule_name(options);
  }
}

/// Steps with gradients, then without, until the momentum has decayed below what its type can square.
template <class T>
void expect_rest(const Options& options, int steps_without) {
  std::mt19937_64 rng(46);
  Single<T> one(options, std::vector<T>(256, T(0)), {16, 16});
  for (int step = 0; step < 20; ++step) one.step(random_values<T>(256, rng));
  for (int step = 0; step < steps_without; ++step) one.step(std::vector<T>(256, T(0)));
  const auto rest = one.w;
  for (int step = 0; step < 5; ++step) one.step(std::vector<T>(256, T(0)));
  EXPECT_EQ(one.w, rest) << rule_name(options);
  for (T w : rest) ASSERT_TRUE(std::isfinite(w)) << rule_name(options);
}

// 0.95 m rounds back to m for the smallest f32: without the guard it would step forever. In f64 the squares of a
// momentum of 1e-160 have no digits left, and a norm made of them is wrong.
TEST(Guards, AMomentumThatHasDecayedStopsMovingTheWeights) {
  for (const Options& options :
       {Options(TrasMuonOptions{.weight_decay = 0}), Options(NorMuonOptions{}), Options(MuonOptions{})}) {
    expect_rest<float>(options, 1800);
    expect_rest<double>(options, 7500);
  }
}

TEST(Guards, AMajorityOfDeadColumnsDoesNotDampTheOthers) {
  std::mt19937_64 rng(44);
  Single<double> one(TrasMuonOptions{}, std::vector<double>(160, 0.0), {10, 16}, {}, {.diagnostics = true});
  for (int step = 0; step < 5; ++step) {
    auto g = random_values<double>(160, rng);
    for (std::size_t i = 0; i < g.size(); ++i) g[i] = i % 16 < 9 ? 0.0 : g[i];
    one.step(g);
    EXPECT_EQ(one.optimizer.diagnostics(0)[0].c_min, 1);
  }
}

TEST(Guards, AScheduleThatStartsAtZeroDoesNotZeroTheDamping) {
  std::mt19937_64 rng(45);
  Single<double> one(TrasMuonOptions{.lr = 0, .rho = 0.5}, std::vector<double>(160, 0.0), {10, 16}, {},
                     {.diagnostics = true});
  one.step(random_values<double>(160, rng));
  EXPECT_GT(one.optimizer.diagnostics(0)[0].c_min, 0.9);
  for (double w : one.w) EXPECT_EQ(w, 0);
}

}  // namespace
}  // namespace trasmuon
