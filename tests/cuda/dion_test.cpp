// SPDX-License-Identifier: Apache-2.0
#include "support/dion_rank.h"
#include "twins.h"

namespace trasmuon::test {
namespace {

using CudaDion = OnGpu;

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t k = 0; k < a.size(); ++k) worst = std::max(worst, std::abs(a[k] - b[k]));
  return worst;
}

TEST_F(CudaDion, FollowsTheCpuInDouble) {
  for (double rank_fraction : {0.1, 0.5, 1.0}) {
    const DionOptions options{.lr = 0.02, .weight_decay = 0.1, .rank_fraction = rank_fraction};
    Twins<double> twins(options, options, memory);
    for (int t = 0; t < steps_of(20); ++t) twins.step(t % 7 == 3 ? 30 : 1, t == 4 ? 2 : -1);
    // B Q is well conditioned here: what differs is the order of summation, and Gram-Schmidt's within a block.
    EXPECT_LE(twins.distance(), 1e-12) << rank_fraction;
    for (std::size_t i = 0; i < twins.count(); ++i) {
      const auto ours = state<double>(twins.gpu(), i, "basis"), theirs = state<double>(twins.cpu(), i, "basis");
      EXPECT_LE(largest_difference(ours, theirs), 1e-11) << rank_fraction << " parameter " << i;
    }
    EXPECT_EQ(state<std::int64_t>(twins.gpu(), 2, "skipped"), std::vector<std::int64_t>{1});
    EXPECT_EQ(state<std::int64_t>(twins.gpu(), 2, "step"), std::vector<std::int64_t>{steps_of(20) - 1});
  }
}

TEST_F(CudaDion, FollowsTheCpuInSingle) {
  const DionOptions options{.lr = 0.02, .rank_fraction = 0.25};
  Twins<float> twins(options, options, memory);
  for (int t = 0; t < steps_of(20); ++t) twins.step();
  EXPECT_LE(twins.distance(), 1e-5);
}

TEST_F(CudaDion, SchedulesTakeEffect) {
  Twins<double> twins(DionOptions{.rank_fraction = 0.5}, DionOptions{.rank_fraction = 0.5}, memory);
  for (int t = 0; t < steps_of(8); ++t) {
    for (Optimizer* o : {&twins.cpu(), &twins.gpu()}) {
      o->set_lr(0.05 / (1 + t));
      o->set(0, "momentum", 0.9 - 0.1 * t);
      o->set(0, "weight_decay", 0.1 * t);
    }
    twins.step();
  }
  EXPECT_LE(twins.distance(), 1e-12);
}

/// Gradients of rank 1 on a rank of 6: five rows of P must become zero, not noise.
TEST_F(CudaDion, DependentColumnsAddNothing) {
  std::mt19937_64 rng(7);
  const auto u = random_values<double>(12, rng), v = random_values<double>(40, rng);
  std::vector<double> g(12 * 40), w = random_values<double>(12 * 40, rng);
  for (std::size_t i = 0; i < 12; ++i) {
    for (std::size_t j = 0; j < 40; ++j) g[i * 40 + j] = u[i] * v[j];
  }
  double* device = memory.copy(w);
  const DionOptions options{.lr = 0.1, .rank_fraction = 0.5};
  Optimizer theirs({{options, {{.name = "w", .weight = view(w.data(), {12, 40})}}}});
  Optimizer ours({{options, {{.name = "w", .weight = view(device, {12, 40}), .device = Device::cuda(0)}}}});
  const TensorView on_cpu = view(g.data(), {12, 40}), on_gpu = view(memory.copy(g), {12, 40});
  for (int t = 0; t < 5; ++t) {
    theirs.step({&on_cpu, 1});
    ours.step({&on_gpu, 1});
  }
  EXPECT_LE(largest_difference(memory.fetch<double>(device, w.size()), w), 1e-10);
}

TEST_F(CudaDion, AStepHasTheRankOfItsGradients) {
  expect_steps_of_rank<float>(20, 300, 1, 12, 1, memory);
  expect_steps_of_rank<double>(20, 300, 1, 12, 1, memory);
  expect_steps_of_rank<float>(40, 36, 2, 6, 2, memory);  // more than one block of rows
}

TEST_F(CudaDion, ASkippedStepAndAMissingGradientLeaveEverything) {
  Twins<float> twins(DionOptions{}, DionOptions{}, memory);
  twins.step();
  const auto weights = memory.fetch<float>(twins.device_weight(2), twins.elements(2));
  const auto momentum = state<float>(twins.gpu(), 2, "momentum"), basis = state<float>(twins.gpu(), 2, "basis");
  twins.step(1, 2);
  const std::vector<TensorView> none(twins.count(), no_gradient());
  twins.gpu().step(none);
  EXPECT_EQ(memory.fetch<float>(twins.device_weight(2), twins.elements(2)), weights);
  EXPECT_EQ(state<float>(twins.gpu(), 2, "momentum"), momentum);
  EXPECT_EQ(state<float>(twins.gpu(), 2, "basis"), basis);
  EXPECT_EQ(state<std::int64_t>(twins.gpu(), 2, "skipped"), std::vector<std::int64_t>{1});
}

TEST_F(CudaDion, SameInputSameBits) {
  Twins<float> one(DionOptions{}, DionOptions{}, memory), other(DionOptions{}, DionOptions{}, memory);
  for (int t = 0; t < steps_of(5); ++t) one.step();
  for (int t = 0; t < steps_of(5); ++t) other.step();
  for (std::size_t i = 0; i < one.count(); ++i) {
    EXPECT_EQ(memory.fetch<float>(one.device_weight(i), one.elements(i)),
              memory.fetch<float>(other.device_weight(i), other.elements(i)));
  }
}

}  // namespace
}  // namespace trasmuon::test
