// SPDX-License-Identifier: Apache-2.0
// Whole trajectories against the plain double reference, on shapes the golden vectors lack.
#include "support/reference.h"

#include <gtest/gtest.h>

#include "support/model.h"
#include "support/option_variants.h"

namespace trasmuon {
namespace {

struct Case {
  std::int64_t m, n;
  TrasMuonOptions options;
  int steps = 12;
};

std::vector<Case> cases() {
  TrasMuonOptions plain{.lr = 0.02, .nesterov = false, .rms_scale = 1, .min_damped_dim = 1};
  std::vector<Case> list = {{5, 7, plain}, {33, 65, plain}, {127, 57, plain}, {1, 30, plain}, {30, 1, plain}};
  // Sides of 64 and more: the Gram form; beyond 384: several slabs of a product.
  list.push_back({70, 200, plain});
  list.push_back({200, 70, plain});
  list.push_back({66, 450, plain, 4});
  list.push_back({400, 90, plain, 3});
  TrasMuonOptions nesterov = plain;
  nesterov.nesterov = true;
  nesterov.coefficients = "you";
  list.push_back({40, 24, nesterov});
  list.push_back({70, 200, nesterov});
  list.push_back({400, 90, nesterov, 3});
  TrasMuonOptions hard = plain;
  hard.clip = Clip::hard;
  hard.period = 2;
  hard.warmup = 2;
  hard.rms_scale = 0.2;
  list.push_back({24, 90, hard});
  TrasMuonOptions continuous = plain;
  continuous.trigger = 0;
  continuous.rho = 0;
  continuous.coefficients = "polar_express";
  continuous.ns_steps = 7;
  list.push_back({48, 48, continuous});
  TrasMuonOptions paper = TrasMuonOptions::paper();
  paper.lr = 0.02;
  paper.gamma = 0.5;
  list.push_back({20, 45, paper});
  return list;
}

/// Shapes in which the size limits and the quantiles differ.
std::vector<std::pair<std::string, Case>> variants() {
  std::vector<std::pair<std::string, Case>> list;
  for (const test::Variant& variant : test::option_variants()) {
    for (const auto& [m, n] : {std::pair{9, 14}, {20, 7}, {7, 20}})
      list.push_back({variant.name, {m, n, variant.options}});
  }
  return list;
}

template <class T>
double worst_deviation(const Case& c, std::int64_t transposed) {
  std::mt19937_64 rng(21);
  const std::vector<T> w0 = test::random_values<T>(c.m * c.n, rng);
  test::Dense exact(c.m, c.n);
  std::copy(w0.begin(), w0.end(), exact.data.begin());
  test::ReferenceTrasMuon reference(c.options, exact);
  auto stored = [&](const test::Dense& x) {
    const test::Dense y = transposed ? test::transpose(x) : x;
    return std::vector<T>(y.data.begin(), y.data.end());
  };
  test::Single<T> ours(c.options, stored(exact), transposed ? Shape{c.n, c.m} : Shape{c.m, c.n},
                       [&](Parameter& p) { p.transposed = transposed; });
  for (int step = 0; step < c.steps; ++step) {
    test::Dense g = test::random_normal(c.m, c.n, rng);
    if (step % 4 == 3) {
      for (std::int64_t i = 0; i < c.m; ++i) g(i, step % c.n) *= 30;  // a burst in one column
    }
    for (double& x : g.data) x = static_cast<double>(static_cast<float>(x));
    reference.step(g);
    ours.step(stored(g));
  }
  const test::Dense expected = transposed ? test::transpose(reference.w) : reference.w;
  double worst = 0;
  for (std::size_t i = 0; i < expected.data.size(); ++i) {
    // In units of one step's RMS.
    worst = std::max(worst, std::abs(static_cast<double>(ours.w[i]) - expected.data[i]));
  }
  return worst / (c.options.lr * c.options.rms_scale);
}

std::vector<double> final_weights(const Case& c) {
  std::mt19937_64 rng(21);
  test::Dense w = test::random_normal(c.m, c.n, rng);
  test::ReferenceTrasMuon reference(c.options, w);
  for (int step = 0; step < c.steps; ++step) {
    test::Dense g = test::random_normal(c.m, c.n, rng);
    for (std::int64_t i = 0; i < c.m && step % 4 == 3; ++i) g(i, step % c.n) *= 30;
    reference.step(g);
  }
  return reference.w.data;
}

TEST(Reference, TrajectoriesAgreeInDouble) {
  for (const Case& c : cases()) {
    EXPECT_LE(worst_deviation<double>(c, false), 1e-10) << c.m << "x" << c.n;
    EXPECT_LE(worst_deviation<double>(c, true), 1e-10) << c.m << "x" << c.n << " transposed";
  }
}

TEST(Reference, EveryOptionAloneAgreesInDouble) {
  for (const auto& [name, c] : variants()) {
    EXPECT_LE(worst_deviation<double>(c, false), 1e-10) << name << " " << c.m << "x" << c.n;
    EXPECT_LE(worst_deviation<double>(c, true), 1e-10) << name << " " << c.m << "x" << c.n << " transposed";
  }
}

// Or the test above could not tell them apart.
TEST(Reference, EveryOptionAloneChangesTheTrajectory) {
  TrasMuonOptions usual{.lr = 0.02, .min_damped_dim = 1};
  for (const test::Variant& variant : test::option_variants()) {
    if (variant.name == "skip_nonfinite = false" || variant.name == "eps_energy = 0") continue;  // need bad gradients
    bool differs = false;
    for (const auto& [m, n] : {std::pair{9, 14}, {20, 7}, {7, 20}}) {
      differs |= final_weights({m, n, variant.options}) != final_weights({m, n, usual});
    }
    EXPECT_TRUE(differs) << variant.name;
  }
}

TEST(Reference, TrajectoriesAgreeInFloat) {
  for (const Case& c : cases()) {
    EXPECT_LE(worst_deviation<float>(c, false), 2e-3) << c.m << "x" << c.n;
    EXPECT_LE(worst_deviation<float>(c, true), 2e-3) << c.m << "x" << c.n << " transposed";
  }
}

}  // namespace
}  // namespace trasmuon
