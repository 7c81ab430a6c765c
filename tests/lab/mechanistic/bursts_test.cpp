// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/bursts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "lab/study/random.h"

namespace trasmuon::lab {
namespace {

constexpr int kDim = 12;

std::vector<double> some_matrix() {
  Random random(3, 60);
  return gaussian_matrix(kDim, random);
}

std::vector<double> identity() {
  std::vector<double> x(kDim * kDim);
  for (int i = 0; i < kDim; ++i) x[i * kDim + i] = 1;
  return x;
}

std::vector<double> amplified(const Bursts& bursts, int step, std::vector<double> matrix) {
  bursts.amplify(step, matrix);
  return matrix;
}

/// The columns that a burst at this step changes.
std::set<int> changed_columns(const Bursts& bursts, int step) {
  const std::vector<double> before = some_matrix(), after = amplified(bursts, step, before);
  std::set<int> changed;
  for (int i = 0; i < kDim * kDim; ++i) {
    if (after[i] != before[i]) changed.insert(i % kDim);
  }
  return changed;
}

TEST(Bursts, FallOnMultiplesOfThePeriod) {
  const Bursts bursts({.period = 10}, kDim, 100, 1);
  for (int step = 0; step <= 100; ++step) EXPECT_EQ(bursts.at(step), step > 0 && step % 10 == 0) << step;
}

TEST(Bursts, FallOnTheirPhase) {
  const Bursts bursts({.period = 10, .phase = 3}, kDim, 100, 1);
  for (int step = 0; step <= 100; ++step) EXPECT_EQ(bursts.at(step), step % 10 == 3) << step;
}

TEST(Bursts, InEveryPhaseHitTheSameColumnsInTurn) {
  const Bursts kept({.period = 10}, kDim, 100, 1);
  for (const int phase : {1, 5, 9}) {
    const Bursts shifted({.period = 10, .phase = phase}, kDim, 100, 1);
    for (int burst = 0; burst < 9; ++burst)
      EXPECT_EQ(changed_columns(shifted, phase + 10 * burst), changed_columns(kept, 10 + 10 * burst)) << burst;
    EXPECT_EQ(changed_columns(shifted, phase + 94), changed_columns(shifted, phase + 90));
  }
}

TEST(Bursts, MultiplyTheirColumnsAndNoOthers) {
  for (const int columns : {1, 3, kDim}) {
    const Bursts bursts({.factor = 1000, .columns = columns}, kDim, 100, 1);
    const std::set<int> hit = changed_columns(bursts, 20);
    EXPECT_EQ(static_cast<int>(hit.size()), columns);
    const std::vector<double> before = some_matrix(), after = amplified(bursts, 20, before);
    for (int i = 0; i < kDim * kDim; ++i) {
      EXPECT_NEAR(after[i] / before[i], hit.contains(i % kDim) ? 1000 : 1, 1e-9);
    }
  }
}

TEST(Bursts, InAMixedBasisChangeOneDirectionAndAllColumns) {
  const Bursts bursts({.factor = 100, .mixed = true}, kDim, 100, 1);
  EXPECT_EQ(static_cast<int>(changed_columns(bursts, 20).size()), kDim);
  // I becomes I + 99 q q^T with a unit vector q.
  const std::vector<double> after = amplified(bursts, 20, identity());
  double trace = 0, squares = 0;
  for (int i = 0; i < kDim; ++i) trace += after[i * kDim + i];
  for (const double x : after) squares += x * x;
  EXPECT_NEAR(trace, kDim - 1 + 100, 1e-10);
  EXPECT_NEAR(squares, kDim - 1 + 100 * 100, 1e-8);
}

TEST(Bursts, RestoreUndoesAmplify) {
  for (const bool mixed : {true, false}) {
    const Bursts bursts({.columns = 2, .mixed = mixed}, kDim, 100, 1);
    std::vector<double> matrix = amplified(bursts, 30, some_matrix());
    bursts.restore(30, matrix);
    const std::vector<double> before = some_matrix();
    for (int i = 0; i < kDim * kDim; ++i) EXPECT_NEAR(matrix[i], before[i], 1e-11);
  }
}

TEST(Bursts, EachStepBelongsToTheNearestAndEachBurstDrawsAnew) {
  const Bursts bursts({.period = 10}, kDim, 400, 1);
  for (int step = 16; step <= 25; ++step) EXPECT_EQ(changed_columns(bursts, step), changed_columns(bursts, 20));
  std::set<std::set<int>> seen;
  for (int step = 10; step <= 400; step += 10) seen.insert(changed_columns(bursts, step));
  EXPECT_GT(seen.size(), kDim * 2 / 3u);
  for (const int period : {1, 2, 3}) {  // the last steps have a nearest burst too
    const Bursts last({.period = period}, kDim, 7, 1);
    EXPECT_EQ(changed_columns(last, 7).size(), 1u);
  }
}

TEST(Bursts, DampingIsThatOfTheDirectionsHit) {
  std::vector<double> c(kDim);
  std::iota(c.begin(), c.end(), 1.0);
  const Bursts kept({}, kDim, 100, 1);
  EXPECT_EQ(kept.damping(20, c), 1.0 + *changed_columns(kept, 20).begin());
  const Bursts two({.columns = 2}, kDim, 100, 1);
  const std::set<int> hit = changed_columns(two, 20);
  EXPECT_EQ(two.damping(20, c), 1 + (*hit.begin() + *hit.rbegin()) / 2.0);

  const Bursts mixed({.mixed = true}, kDim, 100, 1);
  EXPECT_NEAR(mixed.damping(20, std::vector<double>(kDim, 0.3)), 0.3, 1e-14);
  std::vector<double> one(kDim);
  one[4] = 1;
  const double weight = mixed.damping(20, one);  // q_4^2
  EXPECT_NEAR(amplified(mixed, 20, identity())[4 * kDim + 4], 1 + 999 * weight, 1e-10);
}

TEST(Bursts, SeedsDiffer) {
  std::set<std::set<int>> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) seen.insert(changed_columns(Bursts({}, kDim, 100, seed), 20));
  EXPECT_GT(seen.size(), 5u);
}

}  // namespace
}  // namespace trasmuon::lab
