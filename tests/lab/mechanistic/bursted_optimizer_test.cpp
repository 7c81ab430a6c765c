// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/bursted_optimizer.h"

#include <gtest/gtest.h>
#include <trasmuon/orthogonalize.h>

#include <cmath>

#include "lab/study/random.h"

namespace trasmuon::lab {
namespace {

constexpr int kDim = 10;

std::vector<double> gradient(int step) {
  Random random(static_cast<std::uint64_t>(step), 70);
  return gaussian_matrix(kDim, random);
}

/// Weights and momentum after some steps; bursts at multiples of 3.
struct Trained {
  std::vector<double> weight = std::vector<double>(kDim * kDim);
  BurstedOptimizer bursted;

  Trained(const Options& options, const Bursts* bursts, int steps) : bursted(options, weight, kDim, bursts) {
    for (int step = 1; step <= steps; ++step) {
      std::vector<double> g = gradient(step);
      bursted.step(step, g);
    }
  }

  std::vector<double> state(std::string_view name) {
    const TensorView view = bursted.optimizer().state(0, name);
    const auto* data = static_cast<const double*>(view.data);
    return {data, data + view.shape.elements()};
  }
};

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

class BurstedOptimizerTest : public testing::TestWithParam<bool> {
 protected:
  const Bursts bursts_{{.factor = 1000, .period = 3, .mixed = GetParam()}, kDim, 9, 1};
};
INSTANTIATE_TEST_SUITE_P(Basis, BurstedOptimizerTest, testing::Bool(),
                         [](const auto& suite) { return suite.param ? "mixed" : "kept"; });

TEST_P(BurstedOptimizerTest, TheMomentumForgetsABurst) {
  for (const Options& options :
       {Options(TrasMuonOptions{}), Options(NorMuonOptions{}), Options(MuonOptions{}), Options(AdamWOptions{})}) {
    const char* name = std::holds_alternative<AdamWOptions>(options) ? "exp_avg" : "momentum";
    Trained calm(options, nullptr, 3), burst(options, &bursts_, 3);
    EXPECT_NE(calm.weight, burst.weight) << rule_name(options);
    expect_near(calm.state(name), burst.state(name), 1e-12);
  }
}

TEST_P(BurstedOptimizerTest, TheUpdateIsOfTheAmplifiedMomentum) {
  const MuonOptions options{.lr = 0.5, .nesterov = false};
  Trained before(options, &bursts_, 2), after(options, &bursts_, 3);
  std::vector<double> momentum = after.state("momentum"), expected(kDim * kDim);
  bursts_.amplify(3, momentum);
  orthogonalize(view(momentum.data(), {kDim, kDim}), view(expected.data(), {kDim, kDim}), {.eps = options.eps});
  for (int i = 0; i < kDim * kDim; ++i) {
    EXPECT_NEAR(after.weight[i], before.weight[i] - options.lr * expected[i], 1e-9) << i;
  }
}

TEST(BurstedOptimizer, EnergiesSeeTheBurst) {
  const Bursts bursts({.factor = 1000, .period = 3}, kDim, 9, 1);
  Trained calm(TrasMuonOptions{}, nullptr, 3), burst(TrasMuonOptions{}, &bursts, 3);
  const double ratio = burst.bursted.diagnostics().r_max / calm.bursted.diagnostics().r_max;
  EXPECT_GT(ratio, 1e5);  // 1e6 times what the column had, which may not have been the largest
  EXPECT_LT(ratio, 1.001e6);
}

TEST(BurstedOptimizer, WithoutBurstsIsTheOptimizerAlone) {
  std::vector<double> weight(kDim * kDim);
  Optimizer alone({{DionOptions{}, {{"w", view(weight.data(), {kDim, kDim})}}}});
  for (int step = 1; step <= 4; ++step) {
    const std::vector<double> g = gradient(step);
    const TensorView gradients[] = {view(g.data(), {kDim, kDim})};
    alone.step(gradients);
  }
  EXPECT_EQ(Trained(DionOptions{}, nullptr, 4).weight, weight);
}

TEST(BurstedOptimizer, OnlyTrasMuonHasADamping) {
  EXPECT_TRUE(Trained(MuonOptions{}, nullptr, 1).bursted.damping().empty());
  EXPECT_EQ(Trained(TrasMuonOptions{}, nullptr, 1).bursted.damping().size(), static_cast<std::size_t>(kDim));
}

TEST_P(BurstedOptimizerTest, AdamWsUpdateIsOfTheAmplifiedFirstMomentAlone) {
  const AdamWOptions options{.lr = 0.1, .weight_decay = 0};
  Trained calm(options, nullptr, 3), before(options, &bursts_, 2), burst(options, &bursts_, 3);
  EXPECT_EQ(burst.state("exp_avg_sq"), calm.state("exp_avg_sq"));  // has seen the gradient as it is
  std::vector<double> moment = calm.state("exp_avg");
  const std::vector<double> square = calm.state("exp_avg_sq");
  bursts_.amplify(3, moment);
  const double c1 = 1 - std::pow(options.beta1, 3), c2 = 1 - std::pow(options.beta2, 3);
  for (int i = 0; i < kDim * kDim; ++i) {
    const double update = moment[i] / c1 / (std::sqrt(square[i] / c2) + options.eps);
    EXPECT_NEAR(burst.weight[i], before.weight[i] - options.lr * update, 1e-9 * (1 + std::abs(update))) << i;
  }
}

TEST_P(BurstedOptimizerTest, AdamWForgetsABurst) {
  Trained calm(AdamWOptions{}, nullptr, 5), burst(AdamWOptions{}, &bursts_, 5);
  expect_near(calm.state("exp_avg"), burst.state("exp_avg"), 1e-12);
  EXPECT_EQ(calm.state("exp_avg_sq"), burst.state("exp_avg_sq"));
  EXPECT_NE(calm.weight, burst.weight);
}

}  // namespace
}  // namespace trasmuon::lab
