// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "support/model.h"

namespace trasmuon {
namespace {

using test::random_values;
using test::Single;

TEST(Diagnostics, AreEmptyUnlessAskedForAndChangeNothing) {
  for (const Options& rule : test::all_rules()) {
    std::mt19937_64 rng(81);
    const auto w0 = random_values<float>(12 * 20, rng);
    Single<float> off(rule, w0, {12, 20}), on(rule, w0, {12, 20}, {}, {.diagnostics = true});
    for (int step = 0; step < 3; ++step) {
      const auto g = random_values<float>(12 * 20, rng);
      off.step(g);
      on.step(g);
    }
    EXPECT_TRUE(off.optimizer.diagnostics(0).empty());
    EXPECT_EQ(on.optimizer.diagnostics(0).size(), 1u);
    EXPECT_EQ(on.w, off.w) << rule_name(rule);
  }
}

TEST(Diagnostics, UpdateRmsIsWhatTheWeightMoved) {
  for (Options rule : test::all_rules()) {
    std::visit([](auto& o) { o.weight_decay = 0; }, rule);
    std::mt19937_64 rng(82);
    Single<double> one(rule, random_values<double>(12 * 20, rng), {12, 20}, {}, {.diagnostics = true});
    for (int step = 1; step <= 4; ++step) {
      const auto before = one.w;
      one.step(random_values<double>(12 * 20, rng, step == 3 ? 100 : 1));
      double sum = 0;
      for (std::size_t i = 0; i < before.size(); ++i) sum += std::pow(one.w[i] - before[i], 2);
      const Diagnostics& d = one.optimizer.diagnostics(0)[0];
      EXPECT_NEAR(d.update_rms, std::sqrt(sum / 240), 1e-9 * d.update_rms + 1e-15) << rule_name(rule);
      EXPECT_EQ(d.step, step);
      EXPECT_TRUE(d.updated);
    }
  }
}

TEST(Diagnostics, RatiosAndDampingDescribeTheColumns) {
  // beta1 = 0: the energies are those of the gradient, whose columns have known norms.
  const TrasMuonOptions rule{.beta1 = 0, .beta_energy = 0, .beta_clip = 0, .rho = 0};
  std::vector<double> g(10 * 20, 1.0);
  for (std::size_t i = 0; i < 10; ++i) g[i * 20] = 3.0, g[i * 20 + 1] = 10.0;  // r = 9 and 100
  Single<double> one(rule, std::vector<double>(200, 0.0), {10, 20}, {}, {.diagnostics = true});
  one.step(g);
  const Diagnostics& d = one.optimizer.diagnostics(0)[0];
  EXPECT_NEAR(d.r_max, 100, 1e-9);
  EXPECT_NEAR(d.r_q95, 9 + 0.05 * 91, 1e-9);  // position 18.05 of the sorted 20
  const double c9 = 1 / (1 + std::log(10.0)), c100 = 1 / (1 + std::log(101.0));
  EXPECT_NEAR(d.c_min, c100, 1e-12);
  EXPECT_NEAR(d.c_mean, (18 + c9 + c100) / 20, 1e-12);
  EXPECT_NEAR(d.damped_share, 0.1, 1e-12);
}

TEST(Diagnostics, IsometryErrorIsSmallForAConvergedDirection) {
  std::mt19937_64 rng(83);
  TrasMuonOptions rule{.ns_steps = 12, .coefficients = "polar_express"};
  for (Shape shape : {Shape{10, 30}, Shape{30, 10}}) {
    Single<double> converged(rule, std::vector<double>(300, 0.0), shape, {}, {.diagnostics = true});
    converged.step(random_values<double>(300, rng));
    EXPECT_LE(converged.optimizer.diagnostics(0)[0].isometry_error, 1e-6);
    Single<double> keller(TrasMuonOptions{}, std::vector<double>(300, 0.0), shape, {}, {.diagnostics = true});
    keller.step(random_values<double>(300, rng));
    const double error = keller.optimizer.diagnostics(0)[0].isometry_error;
    EXPECT_GT(error, 0.01);
    EXPECT_LT(error, 0.6);
  }
}

TEST(Diagnostics, OneEntryPerMatrixAndNotUpdatedWithoutAGradient) {
  std::mt19937_64 rng(84);
  Single<float> heads(TrasMuonOptions{}, random_values<float>(2 * 12 * 5, rng), {2, 12, 5},
                      [](Parameter& p) {
                        p.row_blocks = {4, 8};
                      },
                      {.diagnostics = true});
  auto g = random_values<float>(120, rng);
  g[0] = std::nanf("");  // poisons the first block only
  heads.step(g);
  const auto d = heads.optimizer.diagnostics(0);
  ASSERT_EQ(d.size(), 4u);
  EXPECT_FALSE(d[0].updated);
  EXPECT_TRUE(d[1].updated && d[2].updated && d[3].updated);
  EXPECT_EQ(d[0].skipped, 1);
  EXPECT_EQ(d[0].step, 0);
  EXPECT_EQ(d[1].step, 1);
  const TensorView none = no_gradient();
  heads.optimizer.step({&none, 1});
  EXPECT_FALSE(heads.optimizer.diagnostics(0)[1].updated);
  EXPECT_EQ(heads.optimizer.diagnostics(0)[1].step, 1);
}

TEST(Diagnostics, WarningsNameWeakSettings) {
  std::vector<float> w(4);
  const Optimizer weak(
      {{TrasMuonOptions{.beta_energy = 0.99, .period = 2, .rho = 0.5, .reference_start = ReferenceStart::zero},
        {{"w", view(w.data(), {2, 2})}}}});
  EXPECT_EQ(
      weak.warnings(),
      (std::vector<std::string>{
          "trasmuon: rho 0.5 > 0.3 nearly switches damping off",
          "trasmuon: period 2 > 1 misses bursts of a single step",
          "trasmuon: beta_energy 0.99 >= 0.99 lets the reference energy go stale",
          "trasmuon: reference_start zero with warmup 0 < 100 damps most columns at the start: E_ref begins too low"}));
  const Optimizer fine({{TrasMuonOptions{}, {{"w", view(w.data(), {2, 2})}}}});
  EXPECT_TRUE(fine.warnings().empty());
}

}  // namespace
}  // namespace trasmuon
