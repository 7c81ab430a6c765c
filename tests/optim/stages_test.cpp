// SPDX-License-Identifier: Apache-2.0
// With a stage left out, the rule equals a known optimizer.
#include <gtest/gtest.h>

#include <cmath>

#include "support/model.h"

namespace trasmuon {
namespace {

using test::random_values;
using test::Single;

constexpr double kLr = 0.02;

/// Steps two rules with the same gradients; returns the largest difference of the weights.
double difference(const Options& a, const Options& b, Shape shape, int steps = 8) {
  std::mt19937_64 rng(31);
  const auto w0 = random_values<double>(shape.elements(), rng);
  Single<double> x(a, w0, shape), y(b, w0, shape);
  for (int i = 0; i < steps; ++i) {
    const auto g = random_values<double>(shape.elements(), rng);
    x.step(g);
    y.step(g);
  }
  double worst = 0;
  for (std::size_t i = 0; i < w0.size(); ++i) worst = std::max(worst, std::abs(x.w[i] - y.w[i]));
  return worst;
}

TEST(Stages, WithoutRowScaleCalibrationAndTrustRegionItIsMuon) {
  const TrasMuonOptions bare{
      .lr = kLr, .weight_decay = 0.1, .eps = 1e-12, .clip = Clip::none, .row_scale = false, .calibrate = false};
  const MuonOptions muon{.lr = kLr, .weight_decay = 0.1, .eps = 1e-12};
  EXPECT_LE(difference(bare, muon, {9, 17}), 1e-10);  // wide: Muon's aspect factor is one
  EXPECT_GT(difference(bare, muon, {17, 9}), 1e-3);   // tall: it is not
}

TEST(Stages, WithoutTrustRegionItIsNorMuon) {
  const TrasMuonOptions noclip{
      .lr = kLr, .weight_decay = 0.1, .eps = 1e-14, .clip = Clip::none, .eps_calibration = 1e-14};
  const NorMuonOptions normuon{.lr = kLr, .weight_decay = 0.1, .eps = 1e-14, .nesterov = true};
  for (Shape shape : {Shape{9, 17}, Shape{17, 9}, Shape{12, 12}}) EXPECT_LE(difference(noclip, normuon, shape), 1e-10);
}

TEST(Stages, WithoutOrthogonalizationItIsMomentumSgd) {
  const TrasMuonOptions bare{.lr = kLr,
                             .weight_decay = 0.1,
                             .nesterov = false,
                             .clip = Clip::none,
                             .orthogonalize = false,
                             .row_scale = false,
                             .calibrate = false};
  std::mt19937_64 rng(32);
  const auto w0 = random_values<double>(6 * 10, rng);
  Single<double> ours(bare, w0, {6, 10});
  std::vector<double> w = w0, m(w0.size());
  for (int step = 0; step < 10; ++step) {
    const auto g = random_values<double>(6 * 10, rng);
    ours.step(g);
    for (std::size_t i = 0; i < w.size(); ++i) {
      m[i] = 0.95 * m[i] + 0.05 * g[i];
      w[i] = (1 - kLr * 0.1) * w[i] - kLr * m[i];
    }
  }
  for (std::size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(ours.w[i], w[i], 1e-14);
}

TEST(Stages, ClipOnlyIsClipSfWithoutTheAverage) {
  TrasMuonOptions clip_only{.lr = kLr, .trigger = 0, .rho = 0};
  TrasMuonOptions clip_sf = clip_only;
  clip_sf.rho = 0.1;
  EXPECT_GT(difference(clip_only, clip_sf, {10, 12}), 1e-6);
  clip_sf.rho = 1e-12;
  EXPECT_LE(difference(clip_only, clip_sf, {10, 12}), 1e-10);
}

TEST(Stages, AWarmupThatNeverEndsIsNoclip) {
  EXPECT_EQ(difference(TrasMuonOptions{.lr = kLr, .trigger = 0, .warmup = 1000},
                       TrasMuonOptions{.lr = kLr, .clip = Clip::none}, {10, 12}),
            0);
}

TEST(Stages, ATriggerThatNothingReachesIsNoclip) {
  EXPECT_EQ(
      difference(TrasMuonOptions{.lr = kLr, .trigger = 1e9}, TrasMuonOptions{.lr = kLr, .clip = Clip::none}, {10, 12}),
      0);
}

TEST(Stages, ThinMatricesAreNotDampedUnlessAsked) {
  EXPECT_EQ(
      difference(TrasMuonOptions{.lr = kLr, .trigger = 0}, TrasMuonOptions{.lr = kLr, .clip = Clip::none}, {7, 40}), 0);
  EXPECT_GT(
      difference(TrasMuonOptions{.lr = kLr, .trigger = 0}, TrasMuonOptions{.lr = kLr, .clip = Clip::none}, {8, 40}),
      1e-4);
}

TEST(Stages, WeightDecayIsAppliedOnceByEveryRule) {
  for (Options options : test::all_rules()) {
    std::visit([](auto& o) { o.lr = 0.1, o.weight_decay = 0.5; }, options);
    Single<double> one(options, std::vector<double>(12, 1.0), {3, 4});
    one.step(std::vector<double>(12, 0.0));
    for (double w : one.w) EXPECT_DOUBLE_EQ(w, 0.95) << rule_name(options);
  }
}

TEST(Stages, AnIsolatedBurstIsDampedByTheStatedOneStepResponse) {
  // c = 1 - (1 - rho)(1 - beta_clip)(1 - c_inst) on the first step that sees the burst.
  const TrasMuonOptions options{.lr = kLr, .beta1 = 0, .trigger = 4};
  std::mt19937_64 rng(33);
  Single<double> one(options, std::vector<double>(400, 0.0), {20, 20}, {}, {.diagnostics = true});
  for (int step = 0; step < 20; ++step) one.step(random_values<double>(400, rng));
  EXPECT_EQ(one.optimizer.diagnostics(0)[0].damped_share, 0);
  auto g = random_values<double>(400, rng);
  for (int i = 0; i < 20; ++i) g[static_cast<std::size_t>(i * 20 + 3)] *= 100;
  one.step(g);
  const Diagnostics& d = one.optimizer.diagnostics(0)[0];
  const double c_inst = std::max(0.1, 1 / (1 + std::log1p(d.r_max)));
  EXPECT_GT(d.r_max, 1000);
  EXPECT_NEAR(d.c_min, 1 - 0.9 * 0.5 * (1 - c_inst), 1e-12);
  EXPECT_NEAR(d.damped_share, 0.05, 1e-12);
}

}  // namespace
}  // namespace trasmuon
