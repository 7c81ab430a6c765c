// SPDX-License-Identifier: Apache-2.0
// reference = history: a column is compared with its own past, not with the other columns.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/model.h"

namespace trasmuon {
namespace {

using test::random_values;

constexpr std::int64_t kRows = 24, kCols = 16;
constexpr std::size_t kStrong = 3;  ///< a column with ten times the gradient of the others, always

/// A run on random gradients of which one column is always strong and some may burst or be silent.
struct Training {
  std::mt19937_64 rng{9};
  test::Single<double> one;
  double gradient_scale = 1;

  explicit Training(const TrasMuonOptions& options)
      : one(options, std::vector<double>(kRows * kCols), {kRows, kCols}) {}

  /// Steps, with column `burst` times 50 and the columns from `silent` on zero; returns the damping.
  std::vector<double> step(std::size_t burst = kCols, std::size_t silent = kCols) {
    std::vector<double> g = random_values<double>(kRows * kCols, rng);
    for (std::size_t i = 0; i < g.size(); ++i) {
      const std::size_t j = i % kCols;
      g[i] *= gradient_scale * (j == kStrong ? 10 : 1) * (j == burst ? 50 : 1) * (j >= silent ? 0 : 1);
    }
    one.step(g);
    const double* c = static_cast<const double*>(one.optimizer.state(0, "c_last").data);
    return {c, c + kCols};
  }
  std::vector<double> steps(int count) {
    for (int t = 1; t < count; ++t) step();
    return step();
  }
};

TrasMuonOptions with(Reference reference) { return {.trigger = 3, .reference = reference}; }

double smallest(const std::vector<double>& c) { return *std::min_element(c.begin(), c.end()); }

TEST(History, AColumnThatIsAlwaysStrongIsNotDamped) {
  Training run(with(Reference::history));
  for (int t = 0; t < 400; ++t) EXPECT_GT(smallest(run.step()), 0.95) << t;
}

TEST(History, TheReferenceOfAllColumnsDampsItForEver) {
  Training run(with(Reference::columns));
  run.steps(100);
  for (int t = 0; t < 300; ++t) EXPECT_LT(run.step()[kStrong], 0.3) << t;
}

TEST(History, ABurstIsDampedInEveryColumn) {
  for (std::size_t column = 0; column < kCols; ++column) {
    Training run(with(Reference::history));
    run.steps(200);
    const std::vector<double> c = run.step(column);
    for (std::size_t j = 0; j < kCols; ++j) {
      if (j == column) EXPECT_LT(c[j], 0.7) << j;
      else EXPECT_GT(c[j], 0.95) << j;
    }
    EXPECT_GT(smallest(run.steps(150)), 0.95) << "it recovers";
  }
}

TEST(History, TheFirstStepsAreNotDamped) {
  // Neither with gradients of noise nor with a constant one, whose momentum grows twentyfold.
  Training noise(with(Reference::history));
  for (int t = 0; t < 100; ++t) EXPECT_GT(smallest(noise.step()), 0.95) << t;
  test::Single<double> constant(with(Reference::history), std::vector<double>(kRows * kCols), {kRows, kCols});
  const auto g = random_values<double>(kRows * kCols, noise.rng);
  for (int t = 0; t < 100; ++t) {
    constant.step(g);
    const double* c = static_cast<const double*>(constant.optimizer.state(0, "c_last").data);
    for (std::int64_t j = 0; j < kCols; ++j) EXPECT_EQ(c[j], 1) << t;
  }
}

TEST(History, AColumnThatComesAliveStartsItsOwnHistory) {
  Training run(with(Reference::history));
  for (int t = 0; t < 100; ++t) EXPECT_GT(smallest(run.step(kCols, 12)), 0.95) << t;
  EXPECT_EQ(run.step()[12], 1) << "nothing to compare with";
  // While its momentum fills it grows faster than its average, as after any jump of a gradient; then it is as any
  // other.
  double lowest = 1;
  for (int t = 0; t < 80; ++t) lowest = std::min(lowest, run.step()[12]);
  EXPECT_GT(lowest, 0.4);
  EXPECT_GT(smallest(run.steps(20)), 0.95);
}

TEST(History, DoesNotDependOnTheScaleOfTheGradient) {
  Training ordinary(with(Reference::history)), tiny(with(Reference::history));
  tiny.gradient_scale = 0x1p-200;
  for (int t = 0; t < 60; ++t) EXPECT_EQ(ordinary.step(t % 9 == 4 ? 5 : kCols), tiny.step(t % 9 == 4 ? 5 : kCols));
}

TEST(History, CannotBeSwitchedOnOrOffDuringARun) {
  Training run(with(Reference::history));
  run.step();
  EXPECT_EQ(run.one.optimizer.state(0, "e_ref").shape, (Shape{1, kCols}));
  Options options = with(Reference::columns);
  const std::string text = test::error_of([&] { run.one.optimizer.set_options(0, options); });
  EXPECT_NE(text.find("reference"), std::string::npos) << text;
  options = TrasMuonOptions{.trigger = 3, .gamma = Gamma::Kind::eta_hat, .reference = Reference::history};
  EXPECT_NE(test::error_of([&] { run.one.optimizer.set_options(0, options); }).find("gamma"), std::string::npos);
}

}  // namespace
}  // namespace trasmuon
