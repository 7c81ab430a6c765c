// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/model.h"

namespace trasmuon {
namespace {

using test::random_values;
using test::Single;

TEST(Optimizer, GroupsWithDifferentRulesStepIndependently) {
  std::mt19937_64 rng(91);
  const auto matrix0 = random_values<float>(8 * 12, rng), vector0 = random_values<float>(12, rng);
  auto matrix = matrix0, vector = vector0;
  Optimizer both({{TrasMuonOptions{.lr = 0.01}, {{"layer.weight", view(matrix.data(), {8, 12})}}},
                  {AdamWOptions{.lr = 0.002}, {{"layer.bias", view(vector.data(), {12})}}}});
  Single<float> first(TrasMuonOptions{.lr = 0.01}, matrix0, {8, 12}), second(AdamWOptions{.lr = 0.002}, vector0, {12});
  for (int step = 0; step < 4; ++step) {
    const auto g = random_values<float>(8 * 12, rng), h = random_values<float>(12, rng);
    const TensorView gradients[] = {view(g.data(), {8, 12}), view(h.data(), {12})};
    both.step(gradients);
    first.step(g);
    second.step(h);
  }
  EXPECT_EQ(matrix, first.w);
  EXPECT_EQ(vector, second.w);
  EXPECT_EQ(both.group_count(), 2u);
  EXPECT_EQ(both.parameter_count(), 2u);
  EXPECT_EQ(both.index_of("layer.bias"), 1u);
  EXPECT_EQ(both.group_of(1), 1u);
}

TEST(Optimizer, AMissingGradientLeavesWeightAndStateAlone) {
  for (const Options& rule : test::all_rules()) {
    std::mt19937_64 rng(92);
    Single<float> one(rule, random_values<float>(6 * 7, rng), {6, 7});
    one.step(random_values<float>(42, rng));
    const auto w = one.w;
    const auto state = test::state_bytes(one.optimizer, 0);
    const TensorView none = no_gradient();
    for (int i = 0; i < 3; ++i) one.optimizer.step({&none, 1});
    EXPECT_EQ(one.w, w);
    EXPECT_EQ(test::state_bytes(one.optimizer, 0), state) << rule_name(rule);
  }
}

TEST(Optimizer, LearningRateWeightDecayAndGammaChangeBetweenSteps) {
  std::mt19937_64 rng(93);
  Single<double> one(TrasMuonOptions{.lr = 0.1, .weight_decay = 0}, std::vector<double>(100, 0.0), {10, 10}, {},
                     {.diagnostics = true});
  for (double lr : {0.1, 0.05, 0.0, 0.2}) {
    one.optimizer.set(0, "lr", lr);
    one.step(random_values<double>(100, rng));
    EXPECT_NEAR(one.optimizer.diagnostics(0)[0].update_rms, 0.2 * lr, 0.06 * lr + 1e-15);
  }
  one.optimizer.set(0, "gamma", 3.0);
  const double before = *static_cast<double*>(one.optimizer.state(0, "gamma_sum").data);
  one.step(random_values<double>(100, rng));
  EXPECT_DOUBLE_EQ(*static_cast<double*>(one.optimizer.state(0, "gamma_sum").data), before + 9);
  one.optimizer.set_lr(0.5);
  one.optimizer.set(0, "weight_decay", 1.0);
  EXPECT_EQ(std::get<TrasMuonOptions>(one.optimizer.options(0)).lr, 0.5);
  EXPECT_EQ(std::get<TrasMuonOptions>(one.optimizer.options(0)).weight_decay, 1.0);
}

TEST(Optimizer, EveryRuleLearnsALeastSquaresProblem) {
  // f(W) = 1/2 ||W X - Y||^2 with a solution; the learning rate decays to let it settle.
  for (Options rule : test::all_rules()) {
    std::visit([](auto& o) { o.weight_decay = 0; }, rule);
    std::mt19937_64 rng(94);
    const std::int64_t out = 12, in = 9, samples = 30;
    const auto x = random_values<double>(in * samples, rng), solution = random_values<double>(out * in, rng);
    Single<double> one(rule, std::vector<double>(static_cast<std::size_t>(out * in), 0.0), {out, in});
    double first = 0, loss = 0;
    constexpr int kSteps = 400;
    for (int step = 0; step < kSteps; ++step) {
      std::vector<double> g(static_cast<std::size_t>(out * in));
      loss = 0;
      for (std::int64_t i = 0; i < out; ++i) {
        for (std::int64_t s = 0; s < samples; ++s) {
          double residual = 0;
          for (std::int64_t j = 0; j < in; ++j) {
            residual += (one.w[static_cast<std::size_t>(i * in + j)] - solution[static_cast<std::size_t>(i * in + j)]) *
                        x[static_cast<std::size_t>(j * samples + s)];
          }
          loss += residual * residual / 2;
          for (std::int64_t j = 0; j < in; ++j)
            g[static_cast<std::size_t>(i * in + j)] += residual * x[static_cast<std::size_t>(j * samples + s)];
        }
      }
      if (step == 0) first = loss;
      one.optimizer.set_lr(0.1 * (1 - static_cast<double>(step) / kSteps));
      one.step(g);
    }
    EXPECT_LT(loss, 1e-3 * first) << rule_name(rule);
  }
}

TEST(Optimizer, SettingTheLearningRateIsAllOrNothing) {
  std::vector<float> a(4, 1.0f), b(4, 1.0f);
  Optimizer optimizer({{MuonOptions{}, {{"a", view(a.data(), {2, 2})}}},
                       {AdamWOptions{.weight_decay = 1}, {{"b", view(b.data(), {4})}}}});
  EXPECT_EQ(test::error_of([&] { optimizer.set_lr(5); }), "adamw: lr * weight_decay must be <= 1, got 5");
  EXPECT_EQ(get_field(optimizer.options(0), "lr"), "0.02");
  EXPECT_EQ(test::error_of([&] { optimizer.set_options({MuonOptions{}}); }),
            "set_options: needs options for 2 groups, got 1");
  optimizer.set_options({MuonOptions{.lr = 0.5}, AdamWOptions{.lr = 0.25}});
  EXPECT_EQ(get_field(optimizer.options(1), "lr"), "0.25");
}

TEST(Optimizer, CanBeMoved) {
  std::vector<float> w(6, 1.0f), g(6, 1.0f);
  Optimizer a({{MuonOptions{}, {{"w", view(w.data(), {2, 3})}}}});
  Optimizer b = std::move(a);
  const TensorView gradient = view(g.data(), {2, 3});
  b.step({&gradient, 1});
  EXPECT_NE(w[0], 1.0f);
}

TEST(Optimizer, DionStartsFromTheSeedAndKeepsItsBasisOnAZeroStep) {
  std::mt19937_64 rng(95);
  const auto w0 = random_values<double>(6 * 8, rng), g = random_values<double>(6 * 8, rng);
  auto run = [&](std::int64_t seed) {
    Single<double> one(DionOptions{.rank_fraction = 0.3, .seed = seed}, w0, {6, 8});
    one.step(g);
    return one.w;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
  // No seed may be a shifted copy of another.
  const auto start = [&](std::int64_t seed) {
    Single<double> one(DionOptions{.seed = seed}, w0, {6, 8});
    const TensorView q = one.optimizer.state(0, "basis");
    return std::vector<double>(static_cast<double*>(q.data), static_cast<double*>(q.data) + q.shape.elements());
  };
  const auto first = start(0);
  for (std::int64_t seed = 1; seed <= 4; ++seed) {
    for (double value : start(seed)) EXPECT_EQ(std::count(first.begin(), first.end(), value), 0) << seed;
  }
  Single<double> one(DionOptions{.weight_decay = 0}, w0, {6, 8});
  const TensorView basis = one.optimizer.state(0, "basis");
  const std::vector<double> before(static_cast<double*>(basis.data),
                                   static_cast<double*>(basis.data) + basis.shape.elements());
  one.step(std::vector<double>(48, 0.0));
  EXPECT_TRUE(std::equal(before.begin(), before.end(), static_cast<double*>(basis.data)));
  EXPECT_EQ(one.w, w0);
}

TEST(Optimizer, DionAtFullRankStepsLikeAnOrthogonalMatrix) {
  // P Q^T of full rank with mu = 0 after many equal gradients: the update is an isometry.
  std::mt19937_64 rng(96);
  const auto g = random_values<double>(6 * 6, rng);
  Single<double> one(DionOptions{.momentum = 0}, std::vector<double>(36, 0.0), {6, 6}, {}, {.diagnostics = true});
  for (int step = 0; step < 60; ++step) one.step(g);
  EXPECT_LE(one.optimizer.diagnostics(0)[0].isometry_error, 0.05);
}

}  // namespace
}  // namespace trasmuon
